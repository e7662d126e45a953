#include "workers/compile/child_compiler.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <hone/error.hpp>
#include <stdexcept>
#include <utility>

#include "workers/isolation/child_side.hpp"

namespace hone::workers {
namespace {

// What a damaged process says is not believed.
std::ptrdiff_t length_of(const Reply& reply) {
  return static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(reply.value, staging_bytes));
}

}  // namespace

ChildCompiler::ChildCompiler(ChildCompilerOptions options) : options_(std::move(options)) {}

std::unique_ptr<ChildProcess> ChildCompiler::take(bool fresh) {
  std::unique_ptr<ChildProcess> process;
  if (!fresh) {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      process = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  // A process dies with the thread that has started it, and it takes a while until that shows.
  if (!process || process->ended()) {
    process = std::make_unique<ChildProcess>(options_.program, options_.memory_bytes);
  }
  return process;
}

std::optional<Reply> ChildCompiler::ask(ChildProcess& process, const CompileRequest& request) const {
  MessageWriter message;
  message.text(request.name).text(request.architecture).number(request.source.size()).number(request.options.size());
  for (const std::string& option : request.options) message.text(option);
  std::memcpy(process.staging().data(), request.source.data(), request.source.size());
  return process.ask(message, options_.timeout);
}

void ChildCompiler::give_back(std::unique_ptr<ChildProcess> process) {
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(process));
}

Code ChildCompiler::compile(const CompileRequest& request) {
  if (request.source.size() > staging_bytes) {
    throw std::runtime_error(fmt::format("the source of {} is longer than {} bytes", request.name, staging_bytes));
  }
  std::string end;
  // A second time in a new process of this thread's: the first may have been damaged by what it compiled before, or be
  // dying with the thread that had started it.
  for (const bool last : {false, true}) {
    std::unique_ptr<ChildProcess> process = take(last);
    const std::optional<Reply> reply = ask(*process, request);
    if (!reply) {
      end = process->end().message();
      if (last || status_of(process->end(), TrialStatus::ok) == TrialStatus::timed_out) break;
      continue;
    }
    Code code;
    if (!reply->error) code.assign(process->staging().begin(), process->staging().begin() + length_of(*reply));
    give_back(std::move(process));
    if (reply->error) throw std::runtime_error(fmt::format("compiling {} failed: {}", request.name, reply->cause));
    if (code.empty()) throw std::runtime_error(fmt::format("compiling {} gave no code", request.name));
    return code;
  }
  throw std::runtime_error(fmt::format("compiling {} failed: {}", request.name, end));
}

void serve_compiler(int argc, char** argv, const std::function<Code(const CompileRequest&)>& compile) {
  const auto staging = begin_child_side(argc, argv);
  if (staging.empty()) return;
  std::vector<std::byte> bytes;
  while (receive_message(isolation_socket, bytes)) {
    MessageReader message(std::move(bytes));
    CompileRequest request;
    request.name = message.text();
    request.architecture = message.text();
    const std::uint64_t source_bytes = std::min<std::uint64_t>(message.number(), staging.size());
    for (std::uint64_t count = message.number(); count > 0 && message.good(); --count) {
      request.options.push_back(message.text());
    }
    request.source.assign(reinterpret_cast<const char*>(staging.data()), source_bytes);
    Reply reply;
    try {
      const Code code = compile(request);
      if (code.size() > staging.size()) throw std::length_error("its code is too large");
      std::copy(code.begin(), code.end(), staging.begin());
      reply.value = code.size();
    } catch (const std::exception& error) {
      reply = {.error = Errc::launch_failed, .cause = error.what()};
    }
    if (!send_message(isolation_socket, encode(reply))) break;
    bytes = {};
  }
  _exit(EXIT_SUCCESS);
}

}  // namespace hone::workers
