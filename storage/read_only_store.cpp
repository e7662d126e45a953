#include "storage/read_only_store.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <hone/error.hpp>

#include "storage/store_error.hpp"

namespace hone::storage {

ReadOnlyStore::ReadOnlyStore(const std::string& path) {
  const std::string data = data_file(path);
  descriptor_ = ::open(data.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    const std::error_code error(errno, std::generic_category());
    throw StoreError(Errc::store_unavailable, fmt::format("{} cannot be read: {}", data, error.message()),
                     "check the path, or make one with `hone db build`");
  }
  try {
    file_.emplace(descriptor_);
  } catch (const DamagedPage& page) {
    ::close(descriptor_);
    throw StoreError(Errc::store_unavailable, fmt::format("{} is not a hone database: {}", data, page.what()),
                     "give a file that `hone db build` made, or a database directory");
  }
  try {
    format_ = read_format(*file_, data);
  } catch (const DamagedPage& page) {
    ::close(descriptor_);
    throw StoreError(Errc::store_damaged, fmt::format("{} is damaged: {}", data, page.what()),
                     fmt::format("save what is whole with `hone db repair {} NEW` and use the new database", path));
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  reader_.emplace(*file_, path);
}

ReadOnlyStore::~ReadOnlyStore() { ::close(descriptor_); }

template <class Result, class Read>
Result ReadOnlyStore::reading(Result nothing, const Read& read) {
  std::string what;
  for (int attempt = 0; attempt < 3; ++attempt) {
    try {
      return read(file_->newest());
    } catch (const DamagedPage& page) {
      what = page.what();
    }
  }
  reader_->damage().add("pages", what);
  return nothing;
}

std::optional<Found> ReadOnlyStore::find(const ProblemKey& key, std::string_view problem,
                                         const Environment& environment) {
  return reading(std::optional<Found>(),
                 [&](const Snapshot& snapshot) { return reader_->find(snapshot, key, problem, environment); });
}

std::vector<Quarantined> ReadOnlyStore::quarantined(const ProblemKey& key, std::uint64_t environment) {
  return reading(std::vector<Quarantined>(),
                 [&](const Snapshot& snapshot) { return reader_->quarantined(snapshot, key, environment); });
}

std::vector<Trial> ReadOnlyStore::trials(const ProblemKey& key, std::uint64_t environment) {
  return reading(std::vector<Trial>(),
                 [&](const Snapshot& snapshot) { return reader_->trials(snapshot, key, environment); });
}

std::optional<Binary> ReadOnlyStore::binary(const std::array<std::uint8_t, 16>& key) {
  return reading(std::optional<Binary>(), [&](const Snapshot& snapshot) { return reader_->binary(snapshot, key); });
}

std::vector<Found> ReadOnlyStore::sample(const ProblemKey& key, std::string_view operation,
                                         const Environment& environment, std::size_t limit) {
  return reading(std::vector<Found>(), [&](const Snapshot& snapshot) {
    return reader_->sample(snapshot, key, operation, environment, limit);
  });
}

std::error_code ReadOnlyStore::commit(std::span<const Change>) { return make_error_code(Errc::store_unavailable); }

}  // namespace hone::storage
