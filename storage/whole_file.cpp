#include "storage/whole_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "storage/codec.hpp"
#include "storage/store_error.hpp"

namespace hone::storage {

WholeFile::WholeFile(const std::string& path) {
  const std::string data = data_file(path);
  std::error_code ignored;
  if (data != path && std::filesystem::exists(path + "/lock.mdb", ignored)) {
    try {
      database_ = Database::open(path);
      pin_.emplace(database_->data().pin());
      pages_ = &database_->data().pages();
      snapshot_ = pin_->snapshot();
      return;
    } catch (const StoreError&) {
      database_.reset();  // damaged, newer or not writable: it is read as a file
    }
  }
  descriptor_ = ::open(data.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    const std::error_code error(errno, std::generic_category());
    throw StoreError(Errc::store_unavailable, fmt::format("{} cannot be read: {}", data, error.message()),
                     "check the path");
  }
  try {
    own_pages_.emplace(descriptor_);
    snapshot_ = own_pages_->newest();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
  pages_ = &*own_pages_;
}

WholeFile::~WholeFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::uint64_t WholeFile::entries(Table table) const {
  const std::optional<Tree> tree = pages_->tree(snapshot_, table_names[static_cast<std::size_t>(table)]);
  return tree ? tree->entries : 0;
}

void WholeFile::scan(Table table, const PageFile::Visit& visit, const PageFile::OnDamage& on_damage) const {
  const std::optional<Tree> tree = pages_->tree(snapshot_, table_names[static_cast<std::size_t>(table)]);
  if (tree) pages_->scan(snapshot_, *tree, {}, visit, on_damage);
  if (pin_ && !pin_->intact()) {
    throw StoreError(
        Errc::store_unavailable,
        fmt::format("{} changed while it was read, which a process of the same number in another container "
                    "kept this one from preventing",
                    database_->directory()),
        "try again, or stop the programs that write it");
  }
}

std::string value_fault(Table table, ByteView key, ByteView value) {
  std::string why;
  bool whole = false;
  switch (table) {
    case Table::meta:
      whole = decode_text(key, value, &why).has_value();
      break;
    case Table::environments: {
      const std::optional<Environment> environment = decode_environment(key, value, &why);
      whole = environment && environment->id() == number_at(key, 0);
      if (environment && !whole) why = "it belongs to another environment";
      break;
    }
    case Table::problems:
      whole = decode_problem(key, value, &why).has_value();
      break;
    case Table::records:
      whole = decode_record(key, value, &why).has_value();
      break;
    case Table::trials:
      whole = decode_trial(key, value, &why).has_value();
      break;
    case Table::quarantine:
      whole = decode_quarantined(key, value, &why).has_value();
      break;
    case Table::binaries:
      whole = decode_binary(key, value, &why).has_value();
      break;
    case Table::commits:
      whole = decode_note(key, value, &why).has_value();
      break;
  }
  return whole ? std::string() : why;
}

}  // namespace hone::storage
