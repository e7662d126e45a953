// How long the foreground takes: find on a hit, alone and under upgrades; a binding; a problem seen for the first time;
// a start on a large database. Side by side: what a server would otherwise do to get at a kernel.
#include <array>
#include <atomic>
#include <filesystem>
#include <shared_mutex>
#include <thread>
#include <unordered_map>

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <lmdb.h>
#include <oneapi/dnnl/dnnl.hpp>

#include <hone/gemm.hpp>
#include <hone/hone.hpp>

#include "engine/index.hpp"
#include "engine/resolver.hpp"
#include "storage/library.hpp"
#include "tests/support/temporary_directory.hpp"

namespace hone::engine {

struct SolutionAccess {
  static Slot& slot(const Solution& solution) { return *solution.answer_->slot; }
};

}  // namespace hone::engine

namespace {

using namespace hone;

constexpr std::size_t problem_count = 64;

gemm::Problem problem(std::size_t i) {
  return {.m = 8 + 8 * static_cast<std::int64_t>(i % 16), .n = 384 * static_cast<std::int64_t>(1 + i / 16), .k = 384};
}

std::unique_ptr<Engine> frozen_engine(const std::string& database = {}, std::vector<std::string> system = {}) {
  auto engine = std::make_unique<Engine>(
      EngineOptions{.database = database, .system_databases = std::move(system), .policy = Policy::frozen()});
  engine->add(host_device());
  engine->add(gemm::operation());
  return engine;
}

// The caller builds the problem each time, as a server does.
void find_hit(benchmark::State& state) {
  const auto engine = frozen_engine();
  for (std::size_t i = 0; i < problem_count; ++i) engine->find(problem(i));
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(engine->find(problem(i++ % problem_count)));
}
BENCHMARK(find_hit);

// Another thread replaces the answers of the same problems all the time, a replacement every microsecond or so.
void find_hit_under_upgrades(benchmark::State& state) {
  const auto engine = frozen_engine();
  std::vector<engine::Slot*> slots;
  for (std::size_t i = 0; i < problem_count; ++i) {
    slots.push_back(&engine::SolutionAccess::slot(engine->find(problem(i))));
  }
  std::atomic<bool> done{false};
  std::atomic<std::uint64_t> published{0};
  std::thread publisher([&] {
    for (std::size_t i = 0; !done.load(std::memory_order_relaxed); ++i) {
      engine::Slot& slot = *slots[i % slots.size()];
      const engine::Answer& current = *slot.current.load();
      auto next_answer = std::make_unique<engine::Answer>();
      next_answer->candidate = current.candidate;
      next_answer->timing = current.timing;
      next_answer->invoker = current.invoker;
      slot.publish(std::move(next_answer));
      published.fetch_add(1, std::memory_order_relaxed);
      const auto next = std::chrono::steady_clock::now() + std::chrono::microseconds(1);
      while (std::chrono::steady_clock::now() < next) {
      }
    }
  });
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(engine->find(problem(i++ % problem_count)));
  done = true;
  publisher.join();
  state.counters["upgrades"] = benchmark::Counter(static_cast<double>(published.load()), benchmark::Counter::kIsRate);
}
BENCHMARK(find_hit_under_upgrades);

void binding_read(benchmark::State& state) {
  const auto engine = frozen_engine();
  const Binding binding = engine->bind(problem(0));
  for (auto _ : state) benchmark::DoNotOptimize(binding.get());
}
BENCHMARK(binding_read);

// A primitive that oneDNN has in its cache: what a program does that keeps no table of its own.
void onednn_cached_matmul(benchmark::State& state) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  std::size_t i = 0;
  const auto create = [&](const gemm::Problem& p) {
    using dnnl::memory;
    const auto matrix = [](std::int64_t rows, std::int64_t columns) {
      return memory::desc({rows, columns}, memory::data_type::f32, memory::format_tag::ab);
    };
    const dnnl::matmul::desc description(matrix(p.m, p.k), matrix(p.k, p.n), matrix(p.m, p.n));
    return dnnl::matmul(dnnl::matmul::primitive_desc(description, engine));
  };
  for (std::size_t n = 0; n < problem_count; ++n) create(problem(n));
  for (auto _ : state) benchmark::DoNotOptimize(create(problem(i++ % problem_count)));
}
BENCHMARK(onednn_cached_matmul);

struct KeyHash {
  std::size_t operator()(const ProblemKey& key) const noexcept { return key.low; }
};

// The table that a program writes first: the same key, a lock and a hash map.
void shared_mutex_map(benchmark::State& state) {
  std::shared_mutex mutex;
  std::unordered_map<ProblemKey, std::shared_ptr<int>, KeyHash> map;
  for (std::size_t i = 0; i < problem_count; ++i) map.emplace(Problem(problem(i)).key(), std::make_shared<int>(0));
  std::size_t i = 0;
  for (auto _ : state) {
    const Problem wanted(problem(i++ % problem_count));
    const std::shared_lock lock(mutex);
    benchmark::DoNotOptimize(std::shared_ptr<int>(map.at(wanted.key())));
  }
}
BENCHMARK(shared_mutex_map);

void check(int code) {
  if (code != 0) throw std::runtime_error(mdb_strerror(code));
}

void lmdb_get(benchmark::State& state) {
  const test::TemporaryDirectory directory;
  MDB_env* env = nullptr;
  MDB_txn* txn = nullptr;
  MDB_dbi dbi = 0;
  check(mdb_env_create(&env));
  check(mdb_env_set_mapsize(env, 1 << 24));
  check(mdb_env_open(env, directory.path().c_str(), 0, 0644));
  check(mdb_txn_begin(env, nullptr, 0, &txn));
  check(mdb_dbi_open(txn, nullptr, 0, &dbi));
  for (std::size_t i = 0; i < problem_count; ++i) {
    ProblemKey key = Problem(problem(i)).key();
    std::array<char, 256> record{};
    MDB_val k{sizeof(key), &key}, v{record.size(), record.data()};
    check(mdb_put(txn, dbi, &k, &v, 0));
  }
  check(mdb_txn_commit(txn));
  std::size_t i = 0;
  for (auto _ : state) {
    ProblemKey key = Problem(problem(i++ % problem_count)).key();
    MDB_val k{sizeof(key), &key}, v{};
    check(mdb_txn_begin(env, nullptr, MDB_RDONLY, &txn));
    check(mdb_get(txn, dbi, &k, &v));
    benchmark::DoNotOptimize(v);
    mdb_txn_abort(txn);
  }
  mdb_env_close(env);
}
BENCHMARK(lmdb_get);

// Records of `count` problems for the host's gemm, as an engine on this machine would have stored them.
void fill(const std::string& path, std::int64_t count) {
  const auto operation = gemm::operation();
  const Environment environment = engine::environment_of(*host_device(), *operation);
  const auto fallback = std::find_if(operation->solvers().begin(), operation->solvers().end(),
                                     [&](const auto& solver) { return solver->id() == operation->fallback(); });
  storage::Library library({.user_database = path});
  std::vector<storage::Change> changes{storage::PutEnvironment{environment}};
  for (std::int64_t i = 0; i < count; ++i) {
    const gemm::Problem sizes{.m = 1 + i % 1000, .n = 8 * (1 + i / 1000), .k = 64};
    const Problem erased(sizes);
    storage::Record record;
    record.key = erased.key();
    record.problem = erased.text();
    record.environment = environment.id();
    record.best.candidate = {std::string((*fallback)->id()), (*fallback)->version(),
                             (*fallback)->default_configuration(erased, *host_device()).text()};
    record.best.timing = {.median = std::chrono::microseconds(10), .samples = 5};
    changes.emplace_back(storage::PutRecord{std::move(record)});
    if (changes.size() >= 10'000) library.submit(std::exchange(changes, {}));
  }
  library.submit(std::move(changes));
  if (!library.flush(std::chrono::minutes(5))) throw std::runtime_error("the database could not be filled");
}

// A problem seen for the first time in this process whose record is in the user database.
void first_sight_with_record(benchmark::State& state) {
  const test::TemporaryDirectory directory;
  fill(directory.path("db"), 100'000);
  auto engine = frozen_engine(directory.path("db"));
  std::int64_t i = 0;
  for (auto _ : state) {
    const gemm::Problem sizes{.m = 1 + i % 1000, .n = 8 * (1 + i / 1000), .k = 64};
    const Solution solution = engine->find(sizes);
    if (solution.provenance() != Provenance::user) {
      state.SkipWithError("the record was not found");
      break;
    }
    ++i;
  }
}
BENCHMARK(first_sight_with_record)->Iterations(20'000)->Unit(benchmark::kMicrosecond);

void open_100000_records_to_first_answer(benchmark::State& state) {
  const test::TemporaryDirectory directory;
  fill(directory.path("db"), 100'000);
  for (auto _ : state) {
    auto engine = frozen_engine(directory.path("db"));
    const Solution solution = engine->find(gemm::Problem{.m = 500, .n = 80, .k = 64});
    state.PauseTiming();
    if (solution.provenance() != Provenance::user) state.SkipWithError("the record was not found");
    engine.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(open_100000_records_to_first_answer)->Unit(benchmark::kMillisecond)->Iterations(20);

}  // namespace

BENCHMARK_MAIN();
