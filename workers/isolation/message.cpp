#include "workers/isolation/message.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <hone/error.hpp>
#include <thread>

namespace hone::workers {
namespace {

enum class Category : std::uint64_t { hone, generic, system };

// What another category means is not known at the other end: there it is a failed launch with its sentence.
std::pair<Category, int> encode_error(std::error_code error) {
  if (error.category() == std::generic_category()) return {Category::generic, error.value()};
  if (error.category() == std::system_category()) return {Category::system, error.value()};
  if (error.category() == error_category()) return {Category::hone, error.value()};
  return {Category::hone, error ? static_cast<int>(Errc::launch_failed) : 0};
}

}  // namespace

MessageWriter& MessageWriter::number(std::uint64_t value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  bytes_.insert(bytes_.end(), begin, begin + sizeof value);
  return *this;
}

MessageWriter& MessageWriter::text(std::string_view value) {
  const std::size_t reserved = 1 << 10;  // for the numbers that follow
  value = value.substr(0, max_message_bytes - std::min(max_message_bytes, bytes_.size() + reserved));
  number(value.size());
  const auto* begin = reinterpret_cast<const std::byte*>(value.data());
  bytes_.insert(bytes_.end(), begin, begin + value.size());
  return *this;
}

std::uint64_t MessageReader::number() {
  std::uint64_t value = 0;
  if (bytes_.size() - position_ < sizeof value) {
    good_ = false;
    return 0;
  }
  std::memcpy(&value, bytes_.data() + position_, sizeof value);
  position_ += sizeof value;
  return value;
}

std::string MessageReader::text() {
  const std::uint64_t size = number();
  if (size > bytes_.size() - position_) {
    good_ = false;
    return {};
  }
  std::string value(reinterpret_cast<const char*>(bytes_.data() + position_), size);
  position_ += size;
  return value;
}

std::vector<std::byte> encode(const Reply& reply) {
  const auto [category, value] = encode_error(reply.error);
  MessageWriter writer;
  writer.number(static_cast<std::uint64_t>(category)).number(static_cast<std::uint64_t>(value));
  // Before the sentence, which may be cut.
  writer.number(reply.facts.size());
  for (const auto& [name, fact] : reply.facts) writer.text(name).number(static_cast<std::uint64_t>(fact));
  writer.text(reply.cause).number(reply.value);
  return writer.bytes();
}

bool decode(std::vector<std::byte> bytes, Reply& reply) {
  MessageReader reader(std::move(bytes));
  const std::uint64_t category = reader.number();
  const int value = static_cast<int>(reader.number());
  for (std::uint64_t left = reader.number(); left > 0 && reader.good(); --left) {
    std::string name = reader.text();
    reply.facts[std::move(name)] = static_cast<std::int64_t>(reader.number());
  }
  reply.cause = reader.text();
  reply.value = reader.number();
  if (!reader.good() || category > static_cast<std::uint64_t>(Category::system)) return false;
  switch (static_cast<Category>(category)) {
    case Category::hone:
      reply.error = {value, error_category()};
      break;
    case Category::generic:
      reply.error = {value, std::generic_category()};
      break;
    case Category::system:
      reply.error = {value, std::system_category()};
      break;
  }
  return true;
}

bool send_message(int socket, const std::vector<std::byte>& bytes) noexcept {
  for (;;) {
    if (send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0) return true;
    if (errno != EINTR) return false;
  }
}

bool receive_message(int socket, std::vector<std::byte>& bytes, std::chrono::nanoseconds awake) {
  std::array<std::byte, max_message_bytes> buffer;  // not zeroed, unlike a vector
  for (const auto start = std::chrono::steady_clock::now();;) {
    const bool sleep = std::chrono::steady_clock::now() - start >= awake;
    const ssize_t size = recv(socket, buffer.data(), buffer.size(), sleep ? 0 : MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN && !sleep) {
      std::this_thread::yield();
      continue;
    }
    if (size <= 0) return false;
    bytes.assign(buffer.begin(), buffer.begin() + size);
    return true;
  }
}

}  // namespace hone::workers
