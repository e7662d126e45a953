#include "storage/codec.hpp"

#include <xxhash.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>

#include "storage/schema_generated.h"

namespace hone::storage {
namespace {

constexpr std::size_t checksum_size = 8;
constexpr std::size_t max_value_size = 1u << 30;

void store_number(std::byte* target, std::uint64_t number) noexcept {
  for (int i = 0; i < 8; ++i) target[i] = static_cast<std::byte>(number >> (56 - 8 * i));
}

// Seeded with the key, so that a value that turns up under another key does not pass.
std::uint64_t checksum(ByteView key, ByteView content) noexcept {
  const std::uint64_t seed = XXH3_64bits(key.data(), key.size());
  return XXH3_64bits_withSeed(content.data(), content.size(), seed);
}

Bytes frame(ByteView key, ByteView content) {
  Bytes value(checksum_size + content.size());
  store_number(value.data(), checksum(key, content));
  if (!content.empty()) std::memcpy(value.data() + checksum_size, content.data(), content.size());
  return value;
}

void explain(std::string* why, const char* reason) {
  if (why != nullptr) *why = reason;
}

bool intact(ByteView key, ByteView value, std::string* why) {
  if (value.size() < checksum_size || value.size() > max_value_size) {
    explain(why, "the value has an impossible size");
    return false;
  }
  if (number_at(value, 0) != checksum(key, value.subspan(checksum_size))) {
    explain(why, "the checksum differs");
    return false;
  }
  return true;
}

// The content of a value at an address where FlatBuffers may read it: LMDB aligns values to two bytes only.
class Content {
 public:
  explicit Content(ByteView value) {
    const ByteView content = value.subspan(checksum_size);
    std::byte* target = small_.data();
    if (content.size() > small_.size()) {
      large_ = std::make_unique_for_overwrite<std::byte[]>(content.size());
      target = large_.get();
    }
    if (!content.empty()) std::memcpy(target, content.data(), content.size());
    bytes_ = {target, content.size()};
  }
  const std::uint8_t* data() const noexcept { return reinterpret_cast<const std::uint8_t*>(bytes_.data()); }
  std::size_t size() const noexcept { return bytes_.size(); }

 private:
  alignas(16) std::array<std::byte, 1024> small_;
  std::unique_ptr<std::byte[]> large_;
  ByteView bytes_;
};

template <class Table, class Result, class Convert>
std::optional<Result> decode(ByteView key, ByteView value, std::string* why, Convert convert) {
  if (!intact(key, value, why)) return {};
  const Content content(value);
  flatbuffers::Verifier verifier(content.data(), content.size());
  if (!verifier.VerifyBuffer<Table>(nullptr)) {
    explain(why, "the value is not a FlatBuffer of this format");
    return {};
  }
  std::optional<Result> result = convert(*flatbuffers::GetRoot<Table>(content.data()));
  if (!result) explain(why, "a field has an impossible value");
  return result;
}

std::string text_of(const flatbuffers::String* text) { return text == nullptr ? std::string() : text->str(); }

std::chrono::sys_seconds date_of(std::int64_t seconds) {
  return std::chrono::sys_seconds(std::chrono::seconds(seconds));
}

Bytes finish(ByteView key, flatbuffers::FlatBufferBuilder& builder) {
  return frame(key, std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
}

flatbuffers::Offset<format::Candidate> write(flatbuffers::FlatBufferBuilder& builder, const RecordedCandidate& source) {
  const format::Timing timing(source.timing.median.count(), source.timing.low.count(), source.timing.high.count(),
                              source.timing.samples);
  const auto solver = builder.CreateString(source.candidate.solver);
  const auto configuration = builder.CreateString(source.candidate.configuration);
  return format::CreateCandidate(builder, solver, source.candidate.version, configuration, &timing, source.workspace);
}

RecordedCandidate read(const format::Candidate& source) {
  RecordedCandidate result;
  result.candidate = {text_of(source.solver()), source.version(), text_of(source.configuration())};
  result.workspace = source.workspace();
  if (source.timing() != nullptr) {
    // The verifier does not look at a struct's alignment.
    alignas(format::Timing) std::byte bytes[sizeof(format::Timing)];
    std::memcpy(bytes, static_cast<const void*>(source.timing()), sizeof bytes);
    const auto& timing = *reinterpret_cast<const format::Timing*>(bytes);
    using Nanoseconds = std::chrono::duration<double, std::nano>;
    result.timing = {Nanoseconds(timing.median()), Nanoseconds(timing.low()), Nanoseconds(timing.high()),
                     timing.samples()};
  }
  return result;
}

// Nothing when names and values do not belong together.
std::optional<CodeFacts> facts_of(const format::Trial& source) {
  CodeFacts facts;
  const std::size_t count = source.fact_names() ? source.fact_names()->size() : 0;
  if (count != (source.fact_values() ? source.fact_values()->size() : 0)) return {};
  for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
    std::int64_t value = 0;  // the verifier does not look at the alignment of elements
    std::memcpy(&value, source.fact_values()->Data() + i * sizeof value, sizeof value);
    if (!facts.emplace(source.fact_names()->Get(i)->str(), value).second) return {};
  }
  return facts;
}

}  // namespace

RecordKey record_key(const ProblemKey& key, std::uint64_t environment) noexcept {
  RecordKey result;
  store_number(result.data(), key.high);
  store_number(result.data() + 8, key.low);
  store_number(result.data() + 16, environment);
  return result;
}

NumberedKey numbered_key(const ProblemKey& key, std::uint64_t environment, std::uint64_t number) noexcept {
  NumberedKey result;
  const RecordKey prefix = record_key(key, environment);
  std::copy(prefix.begin(), prefix.end(), result.begin());
  store_number(result.data() + record_key_size, number);
  return result;
}

NumberKey number_key(std::uint64_t number) noexcept {
  NumberKey result;
  store_number(result.data(), number);
  return result;
}

std::uint64_t number_at(ByteView bytes, std::size_t offset) noexcept {
  if (bytes.size() < offset + 8) return 0;
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < 8; ++i) number = number << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
  return number;
}

ProblemKey problem_key_of(ByteView key) noexcept { return {number_at(key, 0), number_at(key, 8)}; }

std::uint64_t environment_of(ByteView key) noexcept { return number_at(key, 16); }

std::uint64_t candidate_hash(const Candidate& candidate) noexcept {
  const std::uint64_t solver = XXH3_64bits(candidate.solver.data(), candidate.solver.size());
  return XXH3_64bits_withSeed(candidate.configuration.data(), candidate.configuration.size(),
                              solver + candidate.version);
}

Bytes encode(ByteView key, const Environment& environment) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::string> names, values;
  for (const auto& [name, value] : environment.facts) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto vendor = builder.CreateString(environment.vendor);
  const auto architecture = builder.CreateString(environment.architecture);
  const auto device = builder.CreateString(environment.device);
  const auto all_names = builder.CreateVectorOfStrings(names);
  const auto all_values = builder.CreateVectorOfStrings(values);
  builder.Finish(format::CreateEnvironment(builder, vendor, architecture, device, all_names, all_values));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Record& record) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<flatbuffers::Offset<format::Candidate>> rivals;
  rivals.reserve(record.rivals.size());
  for (const RecordedCandidate& rival : record.rivals) rivals.push_back(write(builder, rival));
  const auto problem = builder.CreateString(record.problem);
  const auto best = write(builder, record.best);
  const auto all_rivals = builder.CreateVector(rivals);
  const Judgement judgement = record.judgement.value_or(Judgement{});
  const auto cause = record.judgement ? builder.CreateString(judgement.cause) : 0;
  builder.Finish(format::CreateRecord(
      builder, problem, record.measured, best, all_rivals, record.measurement.cold_cache,
      record.measurement.min_samples, record.date.time_since_epoch().count(), record.budget_spent.count(),
      record.evaluations, record.complete, static_cast<std::uint8_t>(record.stop), record.judgement.has_value(),
      static_cast<std::uint8_t>(judgement.verdict), judgement.ratio, cause));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Trial& trial) {
  flatbuffers::FlatBufferBuilder builder;
  const auto problem = builder.CreateString(trial.problem);
  const auto candidate = write(builder, trial.candidate);
  const auto reason = builder.CreateString(trial.reason);
  std::vector<std::string> names;
  std::vector<std::int64_t> values;
  for (const auto& [name, value] : trial.facts) {
    names.push_back(name);
    values.push_back(value);
  }
  const auto fact_names = names.empty() ? 0 : builder.CreateVectorOfStrings(names);
  const auto fact_values = values.empty() ? 0 : builder.CreateVector(values);
  builder.Finish(format::CreateTrial(builder, problem, candidate, static_cast<std::uint8_t>(trial.status), reason,
                                     trial.date.time_since_epoch().count(), trial.cold_cache, fact_names, fact_values));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Quarantined& quarantined) {
  flatbuffers::FlatBufferBuilder builder;
  const auto problem = builder.CreateString(quarantined.problem);
  const auto candidate = write(builder, {quarantined.candidate, {}, 0});
  const auto cause = builder.CreateString(quarantined.cause);
  builder.Finish(
      format::CreateQuarantined(builder, problem, candidate, cause, quarantined.date.time_since_epoch().count()));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Binary& binary) {
  flatbuffers::FlatBufferBuilder builder(binary.code.size() + 64);
  const auto code = builder.CreateVector(binary.code);
  builder.Finish(format::CreateBinary(builder, code, binary.date.time_since_epoch().count()));
  return finish(key, builder);
}

Bytes encode(ByteView key, const CommitNote& note) {
  flatbuffers::FlatBufferBuilder builder;
  std::vector<std::uint64_t> words;
  words.reserve(2 * note.keys.size());
  for (const ProblemKey& changed : note.keys) {
    words.push_back(changed.high);
    words.push_back(changed.low);
  }
  const auto keys = builder.CreateVector(words);
  builder.Finish(format::CreateCommitNote(builder, note.store, keys));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Attempt& attempt) {
  flatbuffers::FlatBufferBuilder builder;
  const auto problem = builder.CreateString(attempt.attempted.problem);
  const auto candidate = write(builder, {attempt.attempted.candidate, {}, 0});
  builder.Finish(format::CreateAttempt(builder, attempt.session, problem, candidate,
                                       attempt.attempted.date.time_since_epoch().count()));
  return finish(key, builder);
}

Bytes encode(ByteView key, const Claim& claim) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::CreateClaim(builder, claim.session, claim.store, claim.expires));
  return finish(key, builder);
}

Bytes encode_problem(ByteView key, std::string_view text) {
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(format::CreateProblemText(builder, builder.CreateString(text)));
  return finish(key, builder);
}

Bytes encode_text(ByteView key, std::string_view text) { return frame(key, std::as_bytes(std::span(text))); }

std::optional<Environment> decode_environment(ByteView key, ByteView value, std::string* why) {
  return decode<format::Environment, Environment>(
      key, value, why, [](const format::Environment& source) -> std::optional<Environment> {
        Environment result{text_of(source.vendor()), text_of(source.architecture()), text_of(source.device()), {}};
        const std::size_t count = source.names() ? source.names()->size() : 0;
        if (count != (source.values() ? source.values()->size() : 0)) return {};
        for (flatbuffers::uoffset_t i = 0; i < count; ++i) {
          result.facts[source.names()->Get(i)->str()] = source.values()->Get(i)->str();
        }
        return result;
      });
}

std::optional<Record> decode_record(ByteView key, ByteView value, std::string* why) {
  return decode<format::Record, Record>(key, value, why, [key](const format::Record& source) -> std::optional<Record> {
    if (key.size() != record_key_size || source.stop() > static_cast<std::uint8_t>(StopReason::target) ||
        source.verdict() > static_cast<std::uint8_t>(Verdict::failed)) {
      return {};
    }
    Record result;
    result.key = problem_key_of(key);
    result.environment = environment_of(key);
    result.problem = source.problem()->str();
    result.measured = source.measured();
    result.best = read(*source.best());
    if (source.rivals()) {
      result.rivals.reserve(source.rivals()->size());
      for (const format::Candidate* rival : *source.rivals()) result.rivals.push_back(read(*rival));
    }
    result.measurement = {source.cold_cache(), source.min_samples()};
    result.date = date_of(source.date());
    result.budget_spent = std::chrono::nanoseconds(source.budget_spent());
    result.evaluations = source.evaluations();
    result.complete = source.complete();
    result.stop = static_cast<StopReason>(source.stop());
    if (source.judged())
      result.judgement = Judgement{Verdict{source.verdict()}, source.ratio(), text_of(source.cause())};
    return result;
  });
}

std::optional<Trial> decode_trial(ByteView key, ByteView value, std::string* why) {
  return decode<format::Trial, Trial>(key, value, why, [key](const format::Trial& source) -> std::optional<Trial> {
    if (key.size() != record_key_size + 8 || source.status() > static_cast<std::uint8_t>(TrialStatus::crashed)) {
      return {};
    }
    auto facts = facts_of(source);
    if (!facts) return {};
    return Trial{problem_key_of(key),       source.problem()->str(),      environment_of(key),
                 read(*source.candidate()), TrialStatus{source.status()}, text_of(source.reason()),
                 date_of(source.date()),    source.cold_cache(),          *std::move(facts)};
  });
}

std::optional<Quarantined> decode_quarantined(ByteView key, ByteView value, std::string* why) {
  return decode<format::Quarantined, Quarantined>(
      key, value, why, [key](const format::Quarantined& source) -> std::optional<Quarantined> {
        if (key.size() != record_key_size + 8) return {};
        return Quarantined{problem_key_of(key),     source.problem()->str(),
                           environment_of(key),     read(*source.candidate()).candidate,
                           text_of(source.cause()), date_of(source.date())};
      });
}

std::optional<Binary> decode_binary(ByteView key, ByteView value, std::string* why) {
  return decode<format::Binary, Binary>(key, value, why, [key](const format::Binary& source) -> std::optional<Binary> {
    Binary result;
    if (key.size() != result.key.size()) return {};
    std::memcpy(result.key.data(), key.data(), key.size());
    if (source.code()) result.code.assign(source.code()->begin(), source.code()->end());
    result.date = date_of(source.date());
    return result;
  });
}

std::optional<CommitNote> decode_note(ByteView key, ByteView value, std::string* why) {
  return decode<format::CommitNote, CommitNote>(key, value, why,
                                                [](const format::CommitNote& source) -> std::optional<CommitNote> {
                                                  CommitNote result;
                                                  result.store = source.store();
                                                  const std::size_t words = source.keys() ? source.keys()->size() : 0;
                                                  if (words % 2 != 0) return {};
                                                  result.keys.resize(words / 2);
                                                  // The verifier does not look at the alignment of a vector's numbers.
                                                  for (std::size_t i = 0; i < result.keys.size(); ++i) {
                                                    const std::uint8_t* word = source.keys()->Data() + 16 * i;
                                                    std::memcpy(&result.keys[i].high, word, 8);
                                                    std::memcpy(&result.keys[i].low, word + 8, 8);
                                                  }
                                                  return result;
                                                });
}

std::optional<Attempt> decode_attempt(ByteView key, ByteView value, std::string* why) {
  return decode<format::Attempt, Attempt>(key, value, why,
                                          [key](const format::Attempt& source) -> std::optional<Attempt> {
                                            if (key.size() < record_key_size) return {};
                                            Attempt result;
                                            result.session = source.session();
                                            result.attempted = {problem_key_of(key),
                                                                source.problem()->str(),
                                                                environment_of(key),
                                                                read(*source.candidate()).candidate,
                                                                {},
                                                                date_of(source.date())};
                                            return result;
                                          });
}

std::optional<Claim> decode_claim(ByteView key, ByteView value, std::string* why) {
  return decode<format::Claim, Claim>(key, value, why, [](const format::Claim& source) -> std::optional<Claim> {
    return Claim{source.session(), source.store(), source.expires()};
  });
}

std::optional<std::string> decode_problem(ByteView key, ByteView value, std::string* why) {
  return decode<format::ProblemText, std::string>(
      key, value, why,
      [](const format::ProblemText& source) -> std::optional<std::string> { return source.text()->str(); });
}

std::optional<std::string> decode_text(ByteView key, ByteView value, std::string* why) {
  if (!intact(key, value, why)) return {};
  const ByteView content = value.subspan(checksum_size);
  return std::string(reinterpret_cast<const char*>(content.data()), content.size());
}

}  // namespace hone::storage
