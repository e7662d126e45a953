// What an engine's process and its isolated process say to each other: one request, one reply, over a socket pair.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <hone/code_facts.hpp>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace hone::workers {

// Raised when the meaning of a message changes: both ends must be built from the same hone.
inline constexpr std::uint64_t isolation_protocol = 2;
inline constexpr std::size_t max_message_bytes = 64 << 10;

// The arguments that mark an isolated process: this one, the engine's process id, the limit of memory in bytes.
inline constexpr std::string_view isolation_marker = "--hone-isolated";
// Descriptors of the isolated process.
inline constexpr int isolation_socket = 3;
inline constexpr int isolation_staging = 4;
// Bytes of the memory that both processes see; contents of buffers pass through it in pieces.
inline constexpr std::size_t staging_bytes = 4 << 20;

enum class Request : std::uint64_t {
  open,      // protocol, device, environment id
  allocate,  // buffer, bytes
  release,   // buffer
  upload,    // buffer, offset, bytes: from the staging memory
  download,  // buffer, offset, bytes: into the staging memory
  scratch,   // bytes
  prepare,   // invoker, operation, problem, solver, version, configuration
  drop,      // invoker
  launch,    // invoker, arguments
  time,      // invoker, arguments, launches, whether one that is not timed comes first
};

// An invoker's number that stands for the device's reference kernel.
inline constexpr std::uint64_t reference_invoker = 0;

// Numbers and texts in a row. Texts are cut where a message would become too long.
class MessageWriter {
 public:
  MessageWriter& number(std::uint64_t value);
  MessageWriter& text(std::string_view value);
  const std::vector<std::byte>& bytes() const noexcept { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

// Accepts any bytes: what is missing reads as zero or empty, and good() tells.
class MessageReader {
 public:
  explicit MessageReader(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  std::uint64_t number();
  std::string text();
  bool good() const noexcept { return good_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t position_ = 0;
  bool good_ = true;
};

// A reply: an error or none, its sentence, and what the request asked for.
struct Reply {
  std::error_code error = {};
  std::string cause = {};
  std::uint64_t value = 0;
  CodeFacts facts = {};  // of what was prepared, or rejected for them
};
std::vector<std::byte> encode(const Reply& reply);
// False when the bytes are no reply.
bool decode(std::vector<std::byte> bytes, Reply& reply);

// Whole messages over a socket of type SOCK_SEQPACKET. False at its end or on an error.
bool send_message(int socket, const std::vector<std::byte>& bytes) noexcept;
// For `awake` it keeps looking instead of sleeping.
bool receive_message(int socket, std::vector<std::byte>& bytes,
                     std::chrono::nanoseconds awake = std::chrono::nanoseconds::zero());

}  // namespace hone::workers
