// Keys and values of the named databases as bytes, see FORMAT.md.
//
// A value is an 8-byte XXH3 checksum over its key and content, then a FlatBuffer. Decoders accept any bytes: what is
// not a value that was stored under this key gives nothing, and a sentence says why.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hone/environment.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "storage/record.hpp"

namespace hone::storage {

using Bytes = std::vector<std::byte>;
using ByteView = std::span<const std::byte>;

// Problem key and environment, big endian: all environments of a problem are neighbours.
inline constexpr std::size_t problem_key_size = 16;
inline constexpr std::size_t record_key_size = 24;
using RecordKey = std::array<std::byte, record_key_size>;
using NumberKey = std::array<std::byte, 8>;
// A record's key and a number: the sequence of a trial, the hash of a quarantined candidate.
using NumberedKey = std::array<std::byte, record_key_size + 8>;

RecordKey record_key(const ProblemKey& key, std::uint64_t environment) noexcept;
NumberedKey numbered_key(const ProblemKey& key, std::uint64_t environment, std::uint64_t number) noexcept;
NumberKey number_key(std::uint64_t number) noexcept;
// Big-endian number at `offset`; zero when the bytes end before.
std::uint64_t number_at(ByteView bytes, std::size_t offset) noexcept;
ProblemKey problem_key_of(ByteView key) noexcept;
std::uint64_t environment_of(ByteView key) noexcept;
// Names a quarantined candidate within its problem and environment.
std::uint64_t candidate_hash(const Candidate& candidate) noexcept;

// A commit as other stores see it.
struct CommitNote {
  std::uint64_t store = 0;
  std::vector<ProblemKey> keys;  // empty: too many to list
};

struct Attempt {
  std::uint64_t session = 0;
  Quarantined attempted;  // what it becomes when its process is gone
};

struct Claim {
  std::uint64_t session = 0;
  std::uint64_t store = 0;
  std::int64_t expires = 0;  // nanoseconds of the machine's monotonic clock
};

// The value stored under `key`.
Bytes encode(ByteView key, const Environment& environment);
Bytes encode(ByteView key, const Record& record);
Bytes encode(ByteView key, const Trial& trial);
Bytes encode(ByteView key, const Quarantined& quarantined);
Bytes encode(ByteView key, const Binary& binary);
Bytes encode(ByteView key, const CommitNote& note);
Bytes encode(ByteView key, const Attempt& attempt);
Bytes encode(ByteView key, const Claim& claim);
Bytes encode_problem(ByteView key, std::string_view text);
// `meta` only: checksum and plain text, readable by every format.
Bytes encode_text(ByteView key, std::string_view text);

// `why`, when given, gets the reason of a failure.
std::optional<Environment> decode_environment(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Record> decode_record(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Trial> decode_trial(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Quarantined> decode_quarantined(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Binary> decode_binary(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<CommitNote> decode_note(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Attempt> decode_attempt(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<Claim> decode_claim(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<std::string> decode_problem(ByteView key, ByteView value, std::string* why = nullptr);
std::optional<std::string> decode_text(ByteView key, ByteView value, std::string* why = nullptr);

}  // namespace hone::storage
