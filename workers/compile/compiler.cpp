#include "workers/compile/compiler.hpp"

#include <xxhash.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace hone::workers {
namespace {

// With its length, so that no two lists of texts are the same bytes.
void append(std::string& bytes, std::string_view text) {
  bytes += std::to_string(text.size());
  bytes += ':';
  bytes += text;
}

}  // namespace

CachingCompiler::CachingCompiler(std::unique_ptr<Compiler> compiler) : compiler_(std::move(compiler)) {}

void CachingCompiler::use(std::shared_ptr<BinaryCache> cache) {
  const std::lock_guard lock(mutex_);
  cache_ = std::move(cache);
}

BinaryCache::Key CachingCompiler::key_of(const CompileRequest& request, std::string_view compiler_version) {
  std::string bytes;
  append(bytes, compiler_version);
  append(bytes, request.architecture);
  append(bytes, request.source);
  for (const std::string& option : request.options) append(bytes, option);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits(bytes.data(), bytes.size()));
  BinaryCache::Key key;
  static_assert(sizeof canonical.digest == sizeof key);
  std::memcpy(key.data(), canonical.digest, sizeof key);
  return key;
}

CachingCompiler::Result CachingCompiler::compile(const CompileRequest& request) {
  const BinaryCache::Key key = key_of(request, compiler_->version());
  std::shared_ptr<BinaryCache> cache;
  {
    const std::lock_guard lock(mutex_);
    cache = cache_;
  }
  if (cache) {
    if (auto code = cache->get(key)) {
      const std::lock_guard lock(mutex_);
      ++counts_.from_cache;
      return {std::make_shared<const Code>(*std::move(code)), true};
    }
  }
  return compile_once(request, key);
}

CachingCompiler::Result CachingCompiler::compile_again(const CompileRequest& request) {
  return compile_once(request, key_of(request, compiler_->version()));
}

CachingCompiler::Result CachingCompiler::compile_once(const CompileRequest& request, const BinaryCache::Key& key) {
  std::promise<Compiled> promise;
  std::shared_future<Compiled> others;
  {
    const std::lock_guard lock(mutex_);
    ++waiting_;
    const auto [place, is_first] = in_progress_.try_emplace(key);
    if (is_first) {
      place->second = promise.get_future().share();
    } else {
      others = place->second;
    }
  }
  Compiled compiled;
  if (others.valid()) {
    compiled = others.get();
  } else {
    compiled = run(request, key);
    promise.set_value(compiled);
  }
  {
    const std::lock_guard lock(mutex_);
    --waiting_;
  }
  if (!compiled.code) throw std::runtime_error(compiled.failure);
  return {compiled.code, false};
}

// Does not throw: who waits for the result must get one.
CachingCompiler::Compiled CachingCompiler::run(const CompileRequest& request, const BinaryCache::Key& key) {
  Compiled compiled;
  try {
    compiled.code = std::make_shared<const Code>(compiler_->compile(request));
  } catch (const std::exception& error) {
    compiled.failure = error.what();
  }
  std::shared_ptr<BinaryCache> cache;
  {
    const std::lock_guard lock(mutex_);
    ++(compiled.code ? counts_.compiled : counts_.failed);
    in_progress_.erase(key);
    cache = cache_;
  }
  if (cache && compiled.code) cache->put(key, *compiled.code);
  return compiled;
}

int CachingCompiler::waiting() const {
  const std::lock_guard lock(mutex_);
  return waiting_;
}

CompileCounts CachingCompiler::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

}  // namespace hone::workers
