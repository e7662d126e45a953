#include <hone/explanation.hpp>

#include <iterator>

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace hone {
namespace {

std::string time_text(const Timing& timing) {
  if (!timing.known()) return "time not known";
  return fmt::format("{:.2f} us ({:.2f} to {:.2f}, {} samples)", timing.median.count() / 1e3, timing.low.count() / 1e3,
                     timing.high.count() / 1e3, timing.samples);
}

template <class Enumeration>
std::string_view symbol(Enumeration value) {
  return symbols(Enumeration{})[static_cast<std::size_t>(value)];
}

void add_evidence(std::string& text, const Explanation::Evidence& evidence) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "evidence:    {} in {}, {:%Y-%m-%d}, {} caches; {} evaluations in {:.2f} s, {}\n",
                 evidence.measured ? "measured" : "predicted", evidence.source, evidence.date,
                 evidence.cold_cache ? "cold" : "warm", evidence.evaluations,
                 std::chrono::duration<double>(evidence.budget_spent).count(),
                 evidence.complete ? fmt::format("complete ({})", symbol(evidence.stop))
                                   : fmt::format("partial ({})", symbol(evidence.stop)));
  fmt::format_to(out, "  best:      {}, {}\n", to_string(evidence.best.candidate), time_text(evidence.best.timing));
  for (const auto& rival : evidence.rivals) {
    fmt::format_to(out, "  rival:     {}, {}\n", to_string(rival.candidate), time_text(rival.timing));
  }
}

void add_background(std::string& text, const Explanation::Background& background) {
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "background:  {}", background.state);
  if (background.task != "none") fmt::format_to(out, ", task {}", background.task);
  if (background.queue_place > 0) {
    fmt::format_to(out, ", place {} of {} in the queue", background.queue_place, background.queue_length);
  }
  if (background.retries > 0) fmt::format_to(out, ", retry {}", background.retries);
  if (background.task != "none") {
    fmt::format_to(out, "; expected to save {:.3g} ms a day for {:.1f} ms", background.expected_saving * 86'400 * 1e3,
                   std::chrono::duration<double, std::milli>(background.expected_cost).count());
  }
  text += '\n';
}

}  // namespace

std::string to_string(const Explanation& explanation) {
  std::string text = fmt::format("problem:     {}\ndevice:      {}\n", explanation.problem, explanation.device);
  const auto out = std::back_inserter(text);
  if (!explanation.reason.empty()) {
    fmt::format_to(out, "solution:    none: {}\n", explanation.reason);
  } else {
    fmt::format_to(out, "solution:    {}, {}\nprovenance:  {}\n", to_string(explanation.candidate),
                   time_text(explanation.timing), to_string(explanation.provenance));
  }
  if (explanation.evidence) {
    add_evidence(text, *explanation.evidence);
  } else {
    text += "evidence:    none is stored\n";
  }
  if (explanation.judgement) {
    fmt::format_to(out, "verdict:     {}{}: {}\n", symbol(explanation.judgement->verdict),
                   explanation.judgement->ratio > 0 ? fmt::format(" at {:.3f}", explanation.judgement->ratio) : "",
                   explanation.judgement->cause);
  } else {
    text += "verdict:     it was never verified\n";
  }
  if (explanation.observed_median_ns > 0) {
    fmt::format_to(out, "production:  {:.2f} us a launch\n", explanation.observed_median_ns / 1e3);
  }
  if (explanation.offered) fmt::format_to(out, "offered:     {}\n", to_string(*explanation.offered));
  for (const auto& failure : explanation.quarantined) {
    fmt::format_to(out, "quarantined: {}: {}\n", to_string(failure.candidate), failure.cause);
  }
  add_background(text, explanation.background);
  return text;
}

}  // namespace hone
