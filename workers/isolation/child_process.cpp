#include "workers/isolation/child_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <hone/error.hpp>
#include <thread>
#include <utility>

extern char** environ;

namespace hone::workers {
namespace {

// Values of the category: a signal's number, an exit status beyond `exited`, or one of the others.
constexpr int exited = 1000;
constexpr int hung = 2000;
constexpr int sent_nonsense = 2001;
constexpr int vanished = 2002;
constexpr int lost_device = 2003;

class ProcessEnd final : public std::error_category {
 public:
  const char* name() const noexcept override { return "process end"; }
  std::string message(int value) const override {
    if (value == hung) return "it did not come back in time, and its process was killed";
    if (value == sent_nonsense) return "it damaged its process, which sent what is no message";
    if (value == vanished) return "its process ended";
    if (value == lost_device) return "it put the device out of service for its process";
    if (value >= exited) return fmt::format("it ended its process with exit status {}", value - exited);
    return fmt::format("its process was ended by signal {} ({})", value, strsignal(value));
  }
};

std::error_code end_of(int wait_status) {
  const int value = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : exited + WEXITSTATUS(wait_status);
  return {value, process_end_category()};
}

[[noreturn]] void fail(std::string_view what, int error) {
  throw Error(Errc::no_isolation, fmt::format("the process for isolated measuring cannot be started: {}: {}", what,
                                              std::generic_category().message(error)));
}

class File {
 public:
  explicit File(int descriptor) noexcept : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int get() const noexcept { return descriptor_; }
  int release() noexcept { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

struct SpawnActions {
  SpawnActions() { posix_spawn_file_actions_init(&value); }
  ~SpawnActions() { posix_spawn_file_actions_destroy(&value); }
  posix_spawn_file_actions_t value{};
};

struct SpawnAttributes {
  SpawnAttributes() { posix_spawnattr_init(&value); }
  ~SpawnAttributes() { posix_spawnattr_destroy(&value); }
  posix_spawnattr_t value{};
};

// Also a process that has left its group.
void kill_all(pid_t leader) noexcept {
  kill(-leader, SIGKILL);
  kill(leader, SIGKILL);
}

// Out of the way of the numbers that the child gives its own descriptors.
int above_the_childs(int descriptor) {
  const File low(descriptor);
  return fcntl(low.get(), F_DUPFD_CLOEXEC, isolation_staging + 1);
}

}  // namespace

const std::error_category& process_end_category() noexcept {
  static const ProcessEnd category;
  return category;
}

TrialStatus status_of(std::error_code error, TrialStatus otherwise) noexcept {
  if (error.category() != process_end_category()) return otherwise;
  return error.value() == hung ? TrialStatus::timed_out : TrialStatus::crashed;
}

ChildProcess::ChildProcess(const std::vector<std::string>& program, std::uint64_t memory_bytes) {
  int pair[2] = {-1, -1};
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) fail("socketpair", errno);
  File own(pair[0]);
  const File childs(above_the_childs(pair[1]));
  const File file(above_the_childs(memfd_create("hone isolation", MFD_CLOEXEC | MFD_ALLOW_SEALING)));
  if (childs.get() < 0 || file.get() < 0) fail("a descriptor", errno);
  // Nothing that the process does to the file may harm who has mapped it.
  if (ftruncate(file.get(), static_cast<off_t>(staging_bytes)) != 0 ||
      fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    fail("shared memory", errno);
  }
  void* mapped = mmap(nullptr, staging_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (mapped == MAP_FAILED) fail("shared memory", errno);
  staging_ = static_cast<std::byte*>(mapped);
  socket_ = own.release();
  try {
    start(program, memory_bytes, childs.get(), file.get());
  } catch (...) {
    close_all();
    throw;
  }
  process_ = static_cast<int>(syscall(SYS_pidfd_open, id_, 0));  // -1 on an old kernel: then the socket tells
}

void ChildProcess::start(const std::vector<std::string>& program, std::uint64_t memory_bytes, int child_socket,
                         int staging_file) {
  std::vector<std::string> arguments = program;
  arguments.emplace_back(isolation_marker);
  arguments.push_back(std::to_string(getpid()));
  arguments.push_back(std::to_string(memory_bytes));
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);

  SpawnActions actions;
  posix_spawn_file_actions_addopen(&actions.value, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions.value, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&actions.value, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions.value, child_socket, isolation_socket);
  posix_spawn_file_actions_adddup2(&actions.value, staging_file, isolation_staging);
  posix_spawn_file_actions_addclosefrom_np(&actions.value, isolation_staging + 1);

  SpawnAttributes attributes;
  sigset_t none;
  sigset_t all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes.value, &none);
  posix_spawnattr_setsigdefault(&attributes.value, &all);
  posix_spawnattr_setpgroup(&attributes.value, 0);
  posix_spawnattr_setflags(&attributes.value, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&id_, pointers[0], &actions.value, &attributes.value, pointers.data(), environ);
  if (error != 0) fail(program.front(), error);
}

ChildProcess::~ChildProcess() {
  finish();
  close_all();
}

void ChildProcess::close_all() noexcept {
  if (staging_ != nullptr) munmap(staging_, staging_bytes);
  if (socket_ >= 0) close(socket_);
  if (process_ >= 0) close(process_);
}

ChildProcess::Readiness ChildProcess::wait(std::chrono::milliseconds timeout,
                                           std::chrono::nanoseconds awake) const noexcept {
  pollfd files[2] = {{socket_, POLLIN, 0}, {process_, POLLIN, 0}};
  for (const auto start = std::chrono::steady_clock::now();;) {
    const bool sleep = std::chrono::steady_clock::now() - start >= awake;
    const int at_most = timeout.count() > 0 ? static_cast<int>(timeout.count()) : -1;
    const int ready = poll(files, 2, sleep ? at_most : 0);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && !sleep) {
      std::this_thread::yield();
      continue;
    }
    if (ready == 0) return Readiness::timed_out;
    // What it sent before it ended still counts.
    return (files[0].revents & POLLIN) != 0 ? Readiness::message : Readiness::ended;
  }
}

std::optional<Reply> ChildProcess::ask(const MessageWriter& request, std::chrono::milliseconds timeout,
                                       std::chrono::nanoseconds awake) {
  if (end_) return {};
  Reply reply;
  std::vector<std::byte> bytes;
  if (!send_message(socket_, request.bytes())) return finish(), std::nullopt;
  const Readiness readiness = wait(timeout, awake);
  if (readiness == Readiness::timed_out) interrupt();
  if (readiness != Readiness::message || !receive_message(socket_, bytes)) return finish(), std::nullopt;
  if (!decode(std::move(bytes), reply)) return finish(sent_nonsense), std::nullopt;
  return reply;
}

bool ChildProcess::ended() {
  if (end_) return true;
  {
    const std::lock_guard lock(mutex_);
    if (interrupted_) return true;
  }
  pollfd files[2] = {{socket_, POLLIN, 0}, {process_, POLLIN, 0}};
  // It speaks only when asked: whatever can be read now is its end, or damage.
  if (poll(files, 2, 0) > 0) finish();
  return static_cast<bool>(end_);
}

void ChildProcess::interrupt() noexcept {
  const std::lock_guard lock(mutex_);
  if (reaped_) return;
  interrupted_ = true;
  kill_all(id_);
}

void ChildProcess::lose_device() noexcept { finish(lost_device); }

void ChildProcess::finish(int fault) noexcept {
  if (end_ || id_ < 0) return;
  // One that has ended by itself keeps its status; what it has started ends too.
  kill_all(id_);
  siginfo_t waiting{};
  while (waitid(P_PID, static_cast<id_t>(id_), &waiting, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
  }
  const std::lock_guard lock(mutex_);
  int status = 0;
  // A program that ignores SIGCHLD, or waits for any child, leaves no status here.
  const bool known = waitpid(id_, &status, 0) == id_;
  reaped_ = true;
  end_ = interrupted_ ? std::error_code(hung, process_end_category())
         : fault != 0 ? std::error_code(fault, process_end_category())
         : known      ? end_of(status)
                      : std::error_code(vanished, process_end_category());
}

}  // namespace hone::workers
