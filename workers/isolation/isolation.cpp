#include "workers/isolation/isolation.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <hone/error.hpp>
#include <utility>

namespace hone::workers {
namespace {

// Of what no candidate takes part in: starting the program with all its libraries, copying, allocating.
constexpr auto patience = std::chrono::seconds(60);
constexpr std::chrono::milliseconds until_interrupted{0};
// Most replies come sooner than a sleeping processor wakes up. Where something is timed over there, this processor
// sleeps: it may share its core with that one.
constexpr std::chrono::microseconds awake{100};

MessageWriter message(Request kind) {
  MessageWriter request;
  request.number(static_cast<std::uint64_t>(kind));
  return request;
}

[[noreturn]] void unusable(const std::string& why) {
  throw Error(Errc::no_isolation,
              fmt::format("measuring in a process of its own does not work: {}; check "
                          "EngineOptions::isolation_program, or set isolate (HONE_ISOLATE) to false",
                          why));
}

}  // namespace

// The process, and what must exist in it.
class Isolation::Link {
 public:
  Link(IsolationOptions of, std::shared_ptr<Device> for_device)
      : options(std::move(of)), device(std::move(for_device)) {}

  // A request that no candidate takes part in, with `upload` in the staging memory. Tried again where the process ends
  // over it: what ran before may have damaged it. Throws what the reply says.
  std::uint64_t ask(const MessageWriter& request, std::span<const std::byte> upload = {});
  // The reply to what a candidate does; it is prepared first where it is not. No request: it is prepared only.
  Reply run(const RemoteInvoker& invoker, const MessageWriter* request, bool timed = false);
  // A request that must not start a process for its sake.
  void tell(const MessageWriter& request) noexcept;
  void end_process();

  const IsolationOptions options;
  const std::shared_ptr<Device> device;
  std::mutex mutex;
  std::unique_ptr<ChildProcess> process;           // replaced under the mutex
  bool closed = false;                             // guarded
  std::uint64_t generation = 0;                    // of the process
  std::uint64_t next_number = 1;                   // of buffers and invokers; 0 is none
  std::map<std::uint64_t, std::uint64_t> buffers;  // bytes
  std::uint64_t scratch = 0;                       // bytes
  std::uint64_t first = 0;                         // candidate's invoker in this process
  bool crowded = false;                            // others were in it too
  std::function<void()> refill;

 private:
  void start();
  void open();

  bool starting_ = false;
};

class Isolation::RemoteInvoker final : public Invoker {
 public:
  RemoteInvoker(std::shared_ptr<Link> on, std::string of_operation, std::string for_problem, Candidate to_run)
      : link(std::move(on)),
        number(link->next_number++),
        operation(std::move(of_operation)),
        problem(std::move(for_problem)),
        candidate(std::move(to_run)) {}
  // The device's reference kernel.
  explicit RemoteInvoker(std::shared_ptr<Link> on) : link(std::move(on)), number(reference_invoker) {}
  ~RemoteInvoker() override {
    if (number != reference_invoker && generation == link->generation) {
      link->tell(message(Request::drop).number(number));
    }
  }
  std::error_code run(Stream& stream, const Arguments& arguments) const noexcept override;

  const std::shared_ptr<Link> link;
  const std::uint64_t number;
  const std::string operation;
  const std::string problem;
  const Candidate candidate;
  mutable std::uint64_t generation = 0;  // of the process where it is prepared

  MessageWriter preparation() const {
    MessageWriter request = message(Request::prepare);
    request.number(number).text(operation).text(problem);
    request.text(candidate.solver).number(candidate.version).text(candidate.configuration);
    return request;
  }
};

// Launches are not sent before something waits for them: one that is followed by a timed batch costs no message.
class Isolation::RemoteStream final : public Stream {
 public:
  explicit RemoteStream(std::shared_ptr<Link> link) : link_(std::move(link)) {}

  std::error_code launch(const RemoteInvoker& invoker, const Arguments& arguments) noexcept {
    if (recorded_) {
      *recorded_ = Launch{&invoker, arguments};
      return {};
    }
    const std::error_code error = synchronize();
    pending_ = Launch{&invoker, arguments};
    return error;
  }

  std::error_code synchronize() noexcept override {
    if (!pending_) return {};
    const Launch launch = *std::exchange(pending_, std::nullopt);
    return send(launch, describe(Request::launch, launch), false).error;
  }

  std::error_code time(const std::function<std::error_code()>& function, int count,
                       std::chrono::nanoseconds& elapsed) noexcept override {
    std::optional<Launch> launch;
    recorded_ = &launch;
    const std::error_code error = function();
    recorded_ = nullptr;
    if (error) return error;
    if (!launch) return std::make_error_code(std::errc::invalid_argument);
    const bool lead_in = pending_ && pending_->invoker == launch->invoker;
    if (lead_in) pending_.reset();
    if (const std::error_code before = synchronize()) return before;
    MessageWriter request = describe(Request::time, *launch);
    request.number(static_cast<std::uint64_t>(count)).number(lead_in ? 1 : 0);
    const Reply reply = send(*launch, request, true);
    elapsed = std::chrono::nanoseconds(static_cast<std::int64_t>(reply.value));
    return reply.error;
  }

  void* scratch(std::size_t bytes) noexcept override {
    try {
      link_->ask(message(Request::scratch).number(bytes));
      link_->scratch = bytes;
      return this;  // it means something over there only
    } catch (const std::exception&) {
      return nullptr;
    }
  }

 private:
  struct Launch {
    const RemoteInvoker* invoker;
    Arguments arguments;
  };

  static MessageWriter describe(Request kind, const Launch& launch) {
    MessageWriter request = message(kind);
    request.number(launch.invoker->number).number(launch.arguments.size());
    for (std::size_t i = 0; i < launch.arguments.size(); ++i) {
      request.number(reinterpret_cast<std::uintptr_t>(launch.arguments.get<void>(i)));
    }
    return request;
  }

  Reply send(const Launch& launch, const MessageWriter& request, bool timed) noexcept {
    try {
      return link_->run(*launch.invoker, &request, timed);
    } catch (const std::system_error& error) {
      const auto logger = spdlog::get("hone");
      (logger ? logger : spdlog::default_logger())->error("{}", error.what());
      return {.error = error.code()};
    } catch (...) {
      return {.error = Errc::out_of_memory};
    }
  }

  const std::shared_ptr<Link> link_;
  std::optional<Launch> pending_;
  std::optional<Launch>* recorded_ = nullptr;
};

class Isolation::RemoteDevice final : public Device {
 public:
  explicit RemoteDevice(std::shared_ptr<Link> link) : link_(std::move(link)), reference_(link_) {}

  const std::string& name() const noexcept override { return link_->device->name(); }
  const Environment& environment() const noexcept override { return link_->device->environment(); }
  std::unique_ptr<Stream> make_stream(StreamPriority) override { return std::make_unique<RemoteStream>(link_); }

  Buffer allocate(std::size_t bytes) override {
    const std::uint64_t number = link_->next_number++;
    link_->ask(message(Request::allocate).number(number).number(bytes));
    link_->buffers.emplace(number, bytes);
    const auto free = [link = link_, number](std::byte*) {
      link->buffers.erase(number);
      link->tell(message(Request::release).number(number));
    };
    return Buffer(reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(number)), free);
  }

  void copy_to_device(std::byte* target, std::span<const std::byte> source) override {
    for (std::size_t offset = 0; offset < source.size();) {
      const auto piece = source.subspan(offset, std::min(source.size() - offset, staging_bytes));
      link_->ask(copy(Request::upload, target, offset, piece.size()), piece);
      offset += piece.size();
    }
  }

  void copy_to_host(std::span<std::byte> target, const std::byte* source) override {
    for (std::size_t offset = 0; offset < target.size();) {
      const auto piece = target.subspan(offset, std::min(target.size() - offset, staging_bytes));
      link_->ask(copy(Request::download, source, offset, piece.size()));
      const auto staging = link_->process->staging();
      std::copy_n(staging.begin(), piece.size(), piece.begin());
      offset += piece.size();
    }
  }

  std::error_code run_reference(Stream& stream) noexcept override { return reference_.run(stream, {}); }
  std::size_t last_level_cache_bytes() const noexcept override { return link_->device->last_level_cache_bytes(); }

 private:
  static MessageWriter copy(Request kind, const std::byte* buffer, std::size_t offset, std::size_t bytes) {
    MessageWriter request = message(kind);
    request.number(reinterpret_cast<std::uintptr_t>(buffer)).number(offset).number(bytes);
    return request;
  }

  const std::shared_ptr<Link> link_;
  const RemoteInvoker reference_;
};

std::error_code Isolation::RemoteInvoker::run(Stream& stream, const Arguments& arguments) const noexcept {
  auto* remote = dynamic_cast<RemoteStream*>(&stream);
  if (remote == nullptr) return std::make_error_code(std::errc::invalid_argument);
  return remote->launch(*this, arguments);
}

void Isolation::Link::end_process() {
  std::unique_ptr<ChildProcess> ended;  // waited for without the mutex
  const std::lock_guard lock(mutex);
  ended.swap(process);
}

void Isolation::Link::start() {
  if (process && !process->ended()) return;
  if (starting_) unusable(process->end().message());
  end_process();
  auto started = std::make_unique<ChildProcess>(options.program, options.memory_bytes);
  {
    const std::lock_guard lock(mutex);
    if (closed) throw Error(Errc::shut_down, "the engine is being destroyed");
    process = std::move(started);
  }
  ++generation;
  first = 0;
  crowded = false;
  starting_ = true;
  struct Done {
    bool& starting;
    ~Done() { starting = false; }
  } const done{starting_};
  open();
  for (const auto& [number, bytes] : buffers) ask(message(Request::allocate).number(number).number(bytes));
  if (scratch > 0) ask(message(Request::scratch).number(scratch));
  if (refill && generation > 1) refill();
}

void Isolation::Link::open() {
  MessageWriter request = message(Request::open);
  request.number(isolation_protocol).text(device->name()).number(device->environment().id());
  const auto reply = process->ask(request, patience, awake);
  if (!reply) {
    unusable(fmt::format("'{}' did not answer ({}); its main must call hone::serve_isolated first",
                         fmt::join(options.program, " "), process->end().message()));
  }
  if (reply->error) unusable(reply->cause);
}

std::uint64_t Isolation::Link::ask(const MessageWriter& request, std::span<const std::byte> upload) {
  for (const bool again : {true, false}) {
    start();
    std::copy(upload.begin(), upload.end(), process->staging().begin());
    auto reply = process->ask(request, patience, awake);
    if (reply && reply->error == Errc::no_device && !starting_) {
      process->lose_device();
      reply.reset();
    }
    if (!reply && again && !starting_) continue;
    if (!reply) break;
    if (!reply->error) return reply->value;
    if (reply->error.category() != error_category()) throw std::system_error(reply->error, reply->cause);
    throw Error(static_cast<Errc>(reply->error.value()), reply->cause);
  }
  unusable(process->end().message());
}

void Isolation::Link::tell(const MessageWriter& request) noexcept {
  try {
    if (process && !process->ended()) process->ask(request, patience, awake);
  } catch (const std::bad_alloc&) {
    process->interrupt();  // it would be one reply behind
  }
}

Reply Isolation::Link::run(const RemoteInvoker& invoker, const MessageWriter* request, bool timed) {
  const auto ask_candidate = [&](const MessageWriter& what, std::chrono::nanoseconds look) {
    auto reply = process->ask(what, until_interrupted, look);
    if (reply && reply->error == Errc::no_device) {
      process->lose_device();
      reply.reset();
    }
    return reply ? *reply : Reply{.error = process->end(), .cause = process->end().message()};
  };
  const bool is_candidate = invoker.number != reference_invoker;
  for (;;) {
    start();
    if (is_candidate && first == 0) first = invoker.number;
    crowded = crowded || (is_candidate && first != invoker.number);
    Reply reply;
    if (is_candidate && invoker.generation != generation) {
      reply = ask_candidate(invoker.preparation(), awake);
      if (!reply.error) invoker.generation = generation;
    }
    const std::chrono::nanoseconds look = timed ? std::chrono::nanoseconds::zero() : awake;
    if (!reply.error && request != nullptr) reply = ask_candidate(*request, look);
    const bool alone = !crowded && (first == invoker.number || first == 0);
    if (alone || status_of(reply.error, TrialStatus::ok) != TrialStatus::crashed) return reply;
  }
}

Isolation::Isolation(IsolationOptions options, std::shared_ptr<Device> device)
    : link_(std::make_shared<Link>(std::move(options), std::move(device))),
      device_(std::make_unique<RemoteDevice>(link_)),
      stream_(std::make_unique<RemoteStream>(link_)) {}

Isolation::~Isolation() { close(); }

const IsolationOptions& Isolation::options() const noexcept { return link_->options; }

Preparation Isolation::prepare(const Subject& subject, const Candidate& candidate) {
  auto invoker = std::make_shared<const RemoteInvoker>(link_, std::string(subject.problem.operation()),
                                                       subject.problem.text(), candidate);
  Reply reply = link_->run(*invoker, nullptr);
  if (!reply.error) return {.invoker = std::move(invoker), .facts = std::move(reply.facts)};
  if (reply.error == Errc::no_isolation) unusable(reply.cause);
  return {.reason = std::move(reply.cause),
          .status = status_of(reply.error, TrialStatus::prepare_failed),
          .facts = std::move(reply.facts)};
}

bool Isolation::discard() {
  link_->end_process();
  return link_->crowded;
}

bool Isolation::interrupt() noexcept {
  const std::lock_guard lock(link_->mutex);
  if (!link_->process) return false;
  link_->process->interrupt();
  return true;
}

void Isolation::close() noexcept {
  const std::lock_guard lock(link_->mutex);
  link_->closed = true;
  if (link_->process) link_->process->interrupt();
}

Device& Isolation::device() noexcept { return *device_; }
Stream& Isolation::stream() noexcept { return *stream_; }
void Isolation::on_restart(std::function<void()> refill) { link_->refill = std::move(refill); }

}  // namespace hone::workers
