#include "storage/library.hpp"

#include <algorithm>
#include <atomic>
#include <hone/error.hpp>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <utility>

#include "storage/committer.hpp"
#include "storage/lmdb_store.hpp"
#include "storage/memory_store.hpp"
#include "storage/read_only_store.hpp"
#include "storage/store_error.hpp"

namespace hone::storage {
namespace {

// Devices leased while there is no database to lock them in: this process only.
struct LocalDevices {
  std::mutex mutex;
  std::set<std::string, std::less<>> held;
};

StoreHealth healthy(const std::string& path) { return {path, false, {}, {}, {}}; }

StoreHealth from(const std::string& path, const StoreError& error) {
  return {path, true, error.code(), error.cause(), error.remedy()};
}

StoreHealth from(const std::string& path, std::error_code error) {
  StoreHealth health{path, true, error, fmt::format("{} cannot be written: {}", path, error.message()),
                     "see to it that the directory is writable; what is learned meanwhile is kept in memory"};
  if (error == std::errc::no_space_on_device) {
    health.remedy = "free some space; what is learned meanwhile is kept in memory and written then";
  } else if (error == Errc::store_unavailable) {
    health.cause = fmt::format("{} was removed or replaced", path);
    health.remedy = "restore it, or leave it: it is opened again, and made anew when it is missing";
  } else if (error == Errc::store_damaged) {
    health.cause = fmt::format("{} is damaged", path);
    health.remedy = fmt::format("save what is whole with `hone db repair {} NEW` and put the new database there", path);
  }
  return health;
}

}  // namespace

struct Library::State {
  explicit State(LibraryOptions o)
      : options(std::move(o)),
        current(healthy(options.user_database)),
        committer([this](std::span<const Change> changes) { return commit(changes); }, [this] { recover(); },
                  options.retry_interval, options.shutdown_timeout) {}

  // What reads ask, besides `unsaved`. Replaced as a whole.
  struct Places {
    std::shared_ptr<LmdbStore> user;
    std::shared_ptr<ReadOnlyStore> read_only;  // instead of `user`, when that cannot be written
  };
  Places places() const {
    std::shared_lock lock(places_mutex);
    return places_now;
  }
  Store* disk(const Places& p) const {
    return p.user ? static_cast<Store*>(p.user.get()) : static_cast<Store*>(p.read_only.get());
  }

  void open_systems();
  void open_user();
  // On the committer's thread from here on.
  std::error_code commit(std::span<const Change> changes);
  void recover();
  std::error_code save();
  void set_health(StoreHealth health);
  void deliver(const StoreHealth& health) const {
    if (options.on_health) options.on_health(health);
  }

  const LibraryOptions options;
  ForkGuard guard;
  std::vector<std::unique_ptr<ReadOnlyStore>> systems;  // constant after construction
  std::shared_ptr<LocalDevices> devices = std::make_shared<LocalDevices>();
  mutable std::shared_mutex places_mutex;
  Places places_now;
  MemoryStore unsaved;  // what the user database does not hold yet; everything, when there is none
  std::atomic<bool> has_unsaved{false};
  mutable std::mutex health_mutex;
  StoreHealth current;
  Committer committer;  // the last: its thread uses the others
};

void Library::State::open_systems() {
  for (const std::string& path : options.system_databases) {
    try {
      systems.push_back(std::make_unique<ReadOnlyStore>(path));
    } catch (const StoreError& error) {
      committer.post([this, health = from(path, error)] { deliver(health); });
    }
  }
}

void Library::State::open_user() {
  const std::string& path = options.user_database;
  Places opened;
  StoreHealth health = healthy(path);
  try {
    opened.user = std::make_shared<LmdbStore>(Database::open(path));
  } catch (const StoreError& error) {
    health = from(path, error);
  } catch (const std::exception& error) {
    health = {path, true, make_error_code(Errc::store_unavailable), error.what(), "choose another directory"};
  }
  if (!opened.user) {
    try {
      opened.read_only = std::make_shared<ReadOnlyStore>(path);
    } catch (const StoreError&) {
      opened.read_only.reset();  // nothing to be read either; the first failure is the one that is told
    }
  } else if (const std::vector<Quarantined> attempts = opened.user->abandoned_attempts(); !attempts.empty()) {
    std::vector<Change> changes;
    for (const Quarantined& attempt : attempts) changes.push_back(PutQuarantine{attempt});
    unsaved.commit(changes);
    has_unsaved = true;
  }
  {
    std::unique_lock lock(places_mutex);
    places_now = opened;
  }
  set_health(std::move(health));
}

void Library::State::set_health(StoreHealth health) {
  {
    std::lock_guard lock(health_mutex);
    const bool same = health.degraded == current.degraded && health.error == current.error;
    current = health;
    if (same) return;
  }
  committer.post([this, health = std::move(health)] { deliver(health); });
}

// Writes what is unsaved.
std::error_code Library::State::save() {
  const Places now = places();
  if (!now.user) return make_error_code(Errc::store_unavailable);
  if (has_unsaved) {
    if (const std::error_code error = now.user->commit(unsaved.changes())) return error;
    unsaved.clear();
    has_unsaved = false;
    // Markers that stay are quarantined once more at the next opening: harmless.
    static_cast<void>(now.user->forget_attempts());
  }
  return {};
}

std::error_code Library::State::commit(std::span<const Change> changes) {
  if (options.user_database.empty()) {
    has_unsaved = true;
    return unsaved.commit(changes);
  }
  std::error_code error;
  if (const Places now = places(); now.user) {
    error = save();
    if (!error) error = now.user->commit(changes);
    if (!error) {
      set_health(healthy(options.user_database));
      return {};
    }
    set_health(from(options.user_database, error));
  } else {
    std::lock_guard lock(health_mutex);
    error = current.error;
  }
  unsaved.commit(changes);
  has_unsaved = true;
  return error;
}

void Library::State::recover() {
  if (options.user_database.empty()) return;
  const Places now = places();
  bool degraded = false;
  {
    std::lock_guard lock(health_mutex);
    degraded = current.degraded;
  }
  if (now.user) now.user->database().data().sweep_readers();
  if (!degraded && !has_unsaved) return;
  if (!now.user || !now.user->database().in_place()) open_user();
  if (!places().user) return;
  if (const std::error_code error = save()) {
    set_health(from(options.user_database, error));
  } else {
    set_health(healthy(options.user_database));
  }
}

Library::Library(LibraryOptions options) : state_(std::make_unique<State>(std::move(options))) {
  state_->open_systems();
  if (state_->options.user_database.empty()) return;
  state_->open_user();
  if (state_->has_unsaved) state_->committer.post([state = state_.get()] { state->recover(); });
}

Library::~Library() {
  // The threads and the locks that this holds are the parent's.
  if (state_->guard.forked()) static_cast<void>(state_.release());
}

std::optional<Found> Library::find(const ProblemKey& key, std::string_view problem,
                                   const Environment& environment) noexcept {
  if (state_->guard.forked()) return {};
  std::optional<Found> fresh;
  const bool unsaved = state_->has_unsaved;
  if (unsaved) fresh = state_->unsaved.find(key, problem, environment);
  if (fresh && fresh->match == EnvironmentMatch::same) return fresh;
  const State::Places places = state_->places();
  Store* disk = state_->disk(places);
  if (disk == nullptr) return fresh;
  std::optional<Found> stored = disk->find(key, problem, environment);
  if (stored && unsaved && state_->unsaved.forgot(key, stored->record.environment)) stored.reset();
  if (!stored || (fresh && fresh->match <= stored->match)) return fresh;
  return stored;
}

std::optional<Found> Library::find_system(const ProblemKey& key, std::string_view problem,
                                          const Environment& environment) noexcept {
  if (state_->guard.forked()) return {};
  for (const auto& system : state_->systems) {
    if (std::optional<Found> found = system->find(key, problem, environment)) return found;
  }
  return {};
}

std::vector<Quarantined> Library::quarantined(const ProblemKey& key, std::uint64_t environment) noexcept {
  std::vector<Quarantined> result;
  if (state_->guard.forked()) return result;
  if (state_->has_unsaved) result = state_->unsaved.quarantined(key, environment);
  const State::Places places = state_->places();
  Store* disk = state_->disk(places);
  if (disk == nullptr || state_->unsaved.forgot(key, environment)) return result;
  for (Quarantined& stored : disk->quarantined(key, environment)) {
    const auto same = [&](const Quarantined& q) { return q.candidate == stored.candidate; };
    if (std::none_of(result.begin(), result.end(), same)) result.push_back(std::move(stored));
  }
  return result;
}

std::vector<Trial> Library::trials(const ProblemKey& key, std::uint64_t environment) noexcept {
  std::vector<Trial> result;
  if (state_->guard.forked()) return result;
  const State::Places places = state_->places();
  Store* disk = state_->disk(places);
  if (disk != nullptr && !state_->unsaved.forgot(key, environment)) result = disk->trials(key, environment);
  std::vector<Trial> fresh = state_->unsaved.trials(key, environment);
  result.insert(result.end(), std::make_move_iterator(fresh.begin()), std::make_move_iterator(fresh.end()));
  return result;
}

std::vector<Found> Library::sample(const ProblemKey& key, std::string_view operation, const Environment& environment,
                                   std::size_t limit) noexcept {
  std::vector<Found> result;
  if (state_->guard.forked()) return result;
  const auto add = [&](Store& store) {
    std::vector<Found> some = store.sample(key, operation, environment, limit);
    result.insert(result.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  };
  if (state_->has_unsaved) add(state_->unsaved);
  const State::Places places = state_->places();
  if (Store* disk = state_->disk(places)) add(*disk);
  for (const auto& system : state_->systems) add(*system);
  return result;
}

std::optional<Binary> Library::binary(const std::array<std::uint8_t, 16>& key) noexcept {
  if (state_->guard.forked()) return {};
  if (std::optional<Binary> fresh = state_->unsaved.binary(key)) return fresh;
  const State::Places places = state_->places();
  if (Store* disk = state_->disk(places)) {
    if (std::optional<Binary> stored = disk->binary(key)) return stored;
  }
  for (const auto& system : state_->systems) {
    if (std::optional<Binary> found = system->binary(key)) return found;
  }
  return {};
}

void Library::submit(std::vector<Change> changes, std::function<void(std::error_code)> done) noexcept {
  state_->committer.submit(std::move(changes), std::move(done));
}

bool Library::flush(std::chrono::nanoseconds timeout) noexcept { return state_->committer.flush(timeout); }

std::error_code Library::begin_attempt(const ProblemKey& key, std::string_view problem, std::uint64_t environment,
                                       const Candidate& candidate) noexcept {
  if (state_->guard.forked()) return make_error_code(Errc::forked);
  const State::Places places = state_->places();
  return places.user ? places.user->begin_attempt(key, problem, environment, candidate) : std::error_code();
}

std::error_code Library::end_attempt(const ProblemKey& key, std::uint64_t environment,
                                     const Candidate& candidate) noexcept {
  if (state_->guard.forked()) return make_error_code(Errc::forked);
  const State::Places places = state_->places();
  return places.user ? places.user->end_attempt(key, environment, candidate) : std::error_code();
}

bool Library::claim(const ProblemKey& key, std::uint64_t environment, std::chrono::nanoseconds duration) noexcept {
  if (state_->guard.forked()) return false;
  const State::Places places = state_->places();
  return !places.user || places.user->claim(key, environment, duration);
}

void Library::release(const ProblemKey& key, std::uint64_t environment) noexcept {
  if (state_->guard.forked()) return;
  const State::Places places = state_->places();
  if (places.user) places.user->release(key, environment);
}

DeviceLease Library::lease_device(std::string_view device) noexcept {
  if (state_->guard.forked()) return {};
  const State::Places places = state_->places();
  if (!places.user) {
    std::lock_guard lock(state_->devices->mutex);
    if (!state_->devices->held.emplace(device).second) return {};
    return DeviceLease(
        std::shared_ptr<void>(state_->devices.get(), [devices = state_->devices, name = std::string(device)](void*) {
          std::lock_guard releasing(devices->mutex);
          devices->held.erase(name);
        }));
  }
  Session& session = places.user->database().session();
  if (!session.lock_device(device)) return {};
  // The store keeps the session alive.
  return DeviceLease(std::shared_ptr<void>(&session, [store = places.user, name = std::string(device)](void* held) {
    static_cast<Session*>(held)->unlock_device(name);
  }));
}

ForeignChanges Library::foreign_changes() noexcept {
  if (state_->guard.forked()) return {};
  const State::Places places = state_->places();
  return places.user ? places.user->foreign_changes() : ForeignChanges();
}

std::vector<Damage> Library::damage() noexcept {
  std::vector<Damage> result;
  if (state_->guard.forked()) return result;
  const auto take = [&result](Store& store) {
    std::vector<Damage> met = store.damage();
    result.insert(result.end(), std::make_move_iterator(met.begin()), std::make_move_iterator(met.end()));
  };
  const State::Places places = state_->places();
  if (Store* disk = state_->disk(places)) take(*disk);
  for (const auto& system : state_->systems) take(*system);
  return result;
}

StoreHealth Library::health() const {
  if (state_->guard.forked()) {
    return {state_->options.user_database, true, make_error_code(Errc::forked), "the database was opened before fork",
            "open an engine of its own in the child"};
  }
  std::lock_guard lock(state_->health_mutex);
  return state_->current;
}

void Library::retry() noexcept {
  if (state_->guard.forked()) return;
  state_->committer.post([state = state_.get()] { state->recover(); });
  // A second round: the recovery posts its report behind itself.
  state_->committer.flush(std::chrono::hours(1));
  state_->committer.flush(std::chrono::hours(1));
}

}  // namespace hone::storage
