#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "workers/compile/compiler.hpp"

namespace hone::workers {
namespace {

// Code is the source's text; the text "bad" does not compile.
class ScriptedCompiler final : public Compiler {
 public:
  ScriptedCompiler(std::string version, std::shared_future<void> gate = {})
      : version_(std::move(version)), gate_(std::move(gate)) {}
  const std::string& version() const noexcept override { return version_; }
  Code compile(const CompileRequest& request) override {
    if (gate_.valid()) gate_.wait();
    if (request.source == "bad") throw std::runtime_error("it is bad");
    const auto* bytes = reinterpret_cast<const std::byte*>(request.source.data());
    return {bytes, bytes + request.source.size()};
  }

 private:
  const std::string version_;
  const std::shared_future<void> gate_;
};

class MapCache final : public BinaryCache {
 public:
  std::optional<std::vector<std::byte>> get(const Key& key) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = codes_.find(key);
    if (found == codes_.end()) return {};
    return found->second;
  }
  void put(const Key& key, std::span<const std::byte> code) noexcept override {
    const std::lock_guard lock(mutex_);
    codes_[key].assign(code.begin(), code.end());
  }
  std::size_t size() const {
    const std::lock_guard lock(mutex_);
    return codes_.size();
  }

 private:
  mutable std::mutex mutex_;
  std::map<Key, std::vector<std::byte>> codes_;
};

CompileRequest request(std::string source) {
  return {.name = "gemm", .source = std::move(source), .options = {"-DA=1", "-DB=2"}, .architecture = "gfx90a"};
}

TEST(CachingCompiler, CompilesOnceAndThenAsksTheCache) {
  const auto cache = std::make_shared<MapCache>();
  CachingCompiler first(std::make_unique<ScriptedCompiler>("1"));
  first.use(cache);
  const auto compiled = first.compile(request("text"));
  EXPECT_FALSE(compiled.from_cache);
  EXPECT_TRUE(first.compile(request("text")).from_cache);
  // As at the next start.
  CachingCompiler second(std::make_unique<ScriptedCompiler>("1"));
  second.use(cache);
  const auto cached = second.compile(request("text"));
  EXPECT_TRUE(cached.from_cache);
  EXPECT_EQ(*cached.code, *compiled.code);
  EXPECT_EQ(second.counts().compiled, 0u);
  EXPECT_EQ(second.counts().from_cache, 1u);
  EXPECT_FALSE(second.compile_again(request("text")).from_cache);
  EXPECT_EQ(second.counts().compiled, 1u);
}

TEST(CachingCompiler, TheKeyIsOfEverythingThatTheCodeDependsOn) {
  const CompileRequest base = request("text");
  const auto key = CachingCompiler::key_of(base, "1");
  EXPECT_EQ(CachingCompiler::key_of(base, "1"), key);
  EXPECT_NE(CachingCompiler::key_of(base, "2"), key);
  EXPECT_NE(CachingCompiler::key_of(request("Text"), "1"), key);
  CompileRequest other = base;
  other.options = {"-DB=2", "-DA=1"};
  EXPECT_NE(CachingCompiler::key_of(other, "1"), key);
  other.options = {"-DA=1-DB=2"};
  EXPECT_NE(CachingCompiler::key_of(other, "1"), key);
  other = base;
  other.architecture = "gfx908";
  EXPECT_NE(CachingCompiler::key_of(other, "1"), key);
  other = base;
  other.name = "another name in messages";
  EXPECT_EQ(CachingCompiler::key_of(other, "1"), key);
  // Where one text ends and the next begins counts.
  CompileRequest shifted = base;
  shifted.architecture = "gfx90at";
  shifted.source = "ext";
  EXPECT_NE(CachingCompiler::key_of(shifted, "1"), key);
}

TEST(CachingCompiler, AFailureIsNotKept) {
  const auto cache = std::make_shared<MapCache>();
  CachingCompiler compiler(std::make_unique<ScriptedCompiler>("1"));
  compiler.use(cache);
  EXPECT_THROW(compiler.compile(request("bad")), std::runtime_error);
  EXPECT_THROW(compiler.compile(request("bad")), std::runtime_error);
  EXPECT_EQ(compiler.counts().failed, 2u);
  EXPECT_EQ(cache->size(), 0u);
  compiler.use(nullptr);
  EXPECT_FALSE(compiler.compile(request("good")).from_cache);
  EXPECT_EQ(cache->size(), 0u);
}

// Several threads ask for the same while it is compiled, also where it fails.
TEST(CachingCompiler, CompilesOnceForAllWhoAskAtTheSameTime) {
  for (const char* text : {"good", "bad"}) {
    std::promise<void> gate;
    CachingCompiler compiler(std::make_unique<ScriptedCompiler>("1", gate.get_future().share()));
    std::vector<std::future<bool>> results;
    for (int i = 0; i < 4; ++i) {
      results.push_back(std::async(std::launch::async, [&] {
        try {
          return compiler.compile(request(text)).code->size() == 4;
        } catch (const std::runtime_error&) {
          return false;
        }
      }));
    }
    while (compiler.waiting() < 4) std::this_thread::yield();
    gate.set_value();
    for (auto& result : results) EXPECT_EQ(result.get(), std::string(text) == "good");
    EXPECT_EQ(compiler.counts().compiled + compiler.counts().failed, 1u);
  }
}

}  // namespace
}  // namespace hone::workers
