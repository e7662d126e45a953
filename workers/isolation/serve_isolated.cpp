#include <hone/isolation.hpp>

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <hone/error.hpp>
#include <map>
#include <string_view>

#include "workers/isolation/child_side.hpp"
#include "workers/isolation/message.hpp"
#include "workers/solver_call.hpp"
#include "workers/validation.hpp"

namespace hone {
namespace workers {
namespace {

// The next request mostly comes sooner than a sleeping processor wakes up.
constexpr std::chrono::microseconds awake_for_the_next{100};

// Answers requests until the engine is gone. What a request throws is its reply.
class IsolatedServer {
 public:
  IsolatedServer(Isolated things, std::span<std::byte> staging) : things_(std::move(things)), staging_(staging) {}

  void serve() {
    std::vector<std::byte> bytes;
    while (receive_message(isolation_socket, bytes, awake_for_the_next)) {
      MessageReader request(std::move(bytes));
      if (!send_message(isolation_socket, encode(answer(request)))) return;
      bytes = {};
    }
  }

 private:
  Reply answer(MessageReader& request) {
    try {
      return dispatch(static_cast<Request>(request.number()), request);
    } catch (const std::system_error& error) {
      return {.error = error.code(), .cause = error.what()};
    } catch (const RejectedCode& rejected) {
      return {.error = Errc::launch_failed, .cause = rejected.what(), .facts = rejected.facts()};
    } catch (const std::exception& exception) {
      return {.error = Errc::launch_failed, .cause = exception.what()};
    } catch (...) {
      return {.error = Errc::launch_failed, .cause = "it threw something that is no std::exception"};
    }
  }

  Reply dispatch(Request kind, MessageReader& request) {
    switch (kind) {
      case Request::open:
        return open(request);
      case Request::allocate: {
        const std::uint64_t number = request.number();
        const std::uint64_t bytes = request.number();
        buffers_[number] = {device_->allocate(bytes), bytes};
        return {};
      }
      case Request::release:
        buffers_.erase(request.number());
        return {};
      case Request::upload: {
        const auto place = part(request);
        device_->copy_to_device(place.data(), staging_.first(place.size()));
        return {};
      }
      case Request::download: {
        const auto place = part(request);
        device_->copy_to_host(staging_.first(place.size()), place.data());
        return {};
      }
      case Request::scratch:
        if (stream_->scratch(request.number()) != nullptr) return {};
        return {.error = Errc::out_of_memory, .cause = "the device has no memory for it"};
      case Request::prepare:
        return prepare(request);
      case Request::drop:
        invokers_.erase(request.number());
        return {};
      case Request::launch: {
        const Launch launch = read_launch(request);
        std::error_code error = run(launch);
        const std::error_code synchronized = stream_->synchronize();
        if (!error) error = synchronized;
        return {.error = error};
      }
      case Request::time:
        return time(request);
    }
    return {.error = Errc::no_isolation, .cause = "the engine asks for what this process does not know"};
  }

  Reply open(MessageReader& request) {
    const std::uint64_t protocol = request.number();
    if (protocol != isolation_protocol) {
      return {.error = Errc::no_isolation, .cause = "its program was built with another version of hone"};
    }
    const std::string name = request.text();
    for (const auto& device : things_.devices) {
      if (device->name() == name) device_ = device;
    }
    if (!device_) return {.error = Errc::no_isolation, .cause = fmt::format("its program has no device '{}'", name)};
    if (device_->environment().id() != request.number()) {
      return {.error = Errc::no_isolation,
              .cause = fmt::format("its program sees another device '{}' than the engine", name)};
    }
    stream_ = device_->make_stream(StreamPriority::background);
    return {};
  }

  // A part of a buffer that the staging memory can hold.
  std::span<std::byte> part(MessageReader& request) {
    const auto& [buffer, size] = buffers_.at(request.number());
    const std::uint64_t offset = request.number();
    const std::uint64_t bytes = request.number();
    if (offset > size || bytes > size - offset || bytes > staging_.size()) {
      throw Error(Errc::no_isolation, "the engine copies beyond the end of a buffer");
    }
    return {buffer.get() + offset, bytes};
  }

  Reply prepare(MessageReader& request) {
    const std::uint64_t number = request.number();
    const std::string operation_name = request.text();
    const std::string text = request.text();
    Candidate candidate;
    candidate.solver = request.text();
    candidate.version = static_cast<std::uint32_t>(request.number());
    candidate.configuration = request.text();
    const Operation* operation = nullptr;
    for (const auto& each : things_.operations) {
      if (each->problem_type().operation() == operation_name) operation = each.get();
    }
    if (operation == nullptr) {
      return {.error = Errc::no_isolation, .cause = fmt::format("its program has no operation '{}'", operation_name)};
    }
    const Problem problem = Problem::parse(operation->problem_type(), text);
    std::string reason;
    const auto target = validate(*operation, problem, *device_, candidate, reason);
    if (!target) return {.error = Errc::not_applicable, .cause = reason};
    auto invoker = target->solver->prepare(problem, target->configuration, *device_);
    if (!invoker) return {.error = Errc::not_applicable, .cause = "its solver prepared nothing"};
    CodeFacts facts = invoker->facts();
    invokers_[number] = std::move(invoker);
    return {.facts = std::move(facts)};
  }

  struct Launch {
    const Invoker* invoker = nullptr;  // null: the reference kernel
    Arguments arguments = {};
  };
  Launch read_launch(MessageReader& request) {
    const std::uint64_t number = request.number();
    std::array<const void*, max_operands> pointers{};
    const std::uint64_t count = std::min<std::uint64_t>(request.number(), max_operands);
    for (std::uint64_t i = 0; i < count; ++i) {
      if (const std::uint64_t buffer = request.number(); buffer != 0) pointers[i] = buffers_.at(buffer).first.get();
    }
    return {number == reference_invoker ? nullptr : invokers_.at(number).get(),
            {pointers[0], pointers[1], pointers[2], pointers[3], pointers[4], pointers[5], pointers[6], pointers[7]}};
  }
  std::error_code run(const Launch& launch) {
    return launch.invoker != nullptr ? launch.invoker->run(*stream_, launch.arguments)
                                     : device_->run_reference(*stream_);
  }

  Reply time(MessageReader& request) {
    const Launch launch = read_launch(request);
    const int count = static_cast<int>(request.number());
    if (request.number() != 0) {
      if (const std::error_code error = run(launch)) return {.error = error};
    }
    std::chrono::nanoseconds elapsed{0};
    const std::error_code error = stream_->time([&] { return run(launch); }, count, elapsed);
    return {.error = error, .value = static_cast<std::uint64_t>(elapsed.count())};
  }

  const Isolated things_;
  const std::span<std::byte> staging_;
  std::shared_ptr<Device> device_;
  std::unique_ptr<Stream> stream_;
  std::map<std::uint64_t, std::pair<Buffer, std::uint64_t>> buffers_;
  std::map<std::uint64_t, std::shared_ptr<const Invoker>> invokers_;
};

}  // namespace
}  // namespace workers

void serve_isolated(int argc, char** argv, const std::function<Isolated()>& make) {
  using namespace workers;
  const auto staging = begin_child_side(argc, argv);
  if (staging.empty()) return;
  IsolatedServer server(make(), staging);
  server.serve();
  // Candidates may have damaged what destructors need.
  _exit(EXIT_SUCCESS);
}

}  // namespace hone
