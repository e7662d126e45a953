#include "tests/support/hip_runtime/emulated_hip.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "tests/support/hip_runtime/emulated_state.hpp"

ihipStream_t::ihipStream_t(unsigned of_flags, int of_priority)
    : flags(of_flags), priority(of_priority), thread_([this] { serve(); }) {}

ihipStream_t::~ihipStream_t() {
  {
    const std::lock_guard lock(mutex_);
    end_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void ihipStream_t::enqueue(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(work));
  }
  changed_.notify_all();
}

bool ihipStream_t::idle() {
  const std::lock_guard lock(mutex_);
  return waiting_.empty() && !busy_;
}

void ihipStream_t::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return waiting_.empty() && !busy_; });
}

void ihipStream_t::serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return end_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto work = std::move(waiting_.front());
    waiting_.pop_front();
    busy_ = true;
    lock.unlock();
    work();
    lock.lock();
    busy_ = false;
    changed_.notify_all();
  }
}

namespace hone::test {
namespace {

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

}  // namespace

EmulatedHip& EmulatedHip::get() {
  static EmulatedHip only;
  return only;
}

EmulatedHip::EmulatedHip() : state_(std::make_unique<State>()) {}
EmulatedHip::~EmulatedHip() { reset(); }

void EmulatedHip::reset(int devices) {
  std::set<ihipStream_t*> streams;
  std::unique_ptr<ihipStream_t> default_stream;
  {
    const std::lock_guard lock(state_->mutex);
    state_->hangs_end = true;
    streams.swap(state_->streams);
    default_stream.swap(state_->default_stream);
  }
  state_->hang_ends.notify_all();
  for (ihipStream_t* stream : streams) delete stream;
  default_stream.reset();
  const std::lock_guard lock(state_->mutex);
  for (const auto& [memory, allocation] : state_->allocations) munmap(allocation.pages, allocation.page_bytes);
  for (ihipModule_t* module : state_->modules) delete module;
  state_->allocations.clear();
  state_->modules.clear();
  state_->code.clear();
  state_->calls.clear();
  state_->complaints.clear();
  state_->devices = devices;
  state_->fault = HipFault::none;
  state_->hangs_end = false;
  state_->sticky = hipSuccess;
  state_->default_stream_uses = 0;
  state_->pools = true;
}

void EmulatedHip::inject(HipFault fault, int later) {
  const std::lock_guard lock(state_->mutex);
  state_->fault = fault;
  state_->later = later;
}

void EmulatedHip::remove_pools() {
  const std::lock_guard lock(state_->mutex);
  state_->pools = false;
}

void EmulatedHip::add_kernel(std::string code, std::string kernel, std::size_t bytes,
                             std::function<void(const EmulatedLaunch&)> run) {
  const std::lock_guard lock(state_->mutex);
  state_->code[std::move(code)].insert_or_assign(std::move(kernel), ihipModuleSymbol_t{bytes, std::move(run)});
}

std::vector<std::string> EmulatedHip::complaints() const {
  const std::lock_guard lock(state_->mutex);
  return state_->complaints;
}
std::size_t EmulatedHip::allocations() const {
  const std::lock_guard lock(state_->mutex);
  return state_->allocations.size();
}
std::size_t EmulatedHip::modules() const {
  const std::lock_guard lock(state_->mutex);
  return state_->modules.size();
}
int EmulatedHip::calls(std::string_view function) const {
  const std::lock_guard lock(state_->mutex);
  const auto found = state_->calls.find(function);
  return found == state_->calls.end() ? 0 : found->second;
}
int EmulatedHip::default_stream_uses() const {
  const std::lock_guard lock(state_->mutex);
  return state_->default_stream_uses;
}
int EmulatedHip::last_priority() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_priority;
}
unsigned EmulatedHip::last_flags() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_flags;
}

bool EmulatedHip::State::meets(HipFault which) {
  const std::lock_guard lock(mutex);
  if (fault != which || later-- > 0) return false;
  fault = HipFault::none;
  return true;
}

hipError_t EmulatedHip::State::enter(const char* function) {
  const bool lost = meets(HipFault::device_lost);
  const std::lock_guard lock(mutex);
  if (lost) sticky = hipErrorNoDevice;
  ++calls[function];
  return sticky;
}

void EmulatedHip::State::complain(std::string what) {
  const std::lock_guard lock(mutex);
  complaints.push_back(std::move(what));
}

ihipStream_t& EmulatedHip::State::stream_of(hipStream_t stream) {
  const std::lock_guard lock(mutex);
  if (stream != nullptr) {
    if (!streams.contains(stream)) complaints.push_back("a stream was used that does not exist");
    return *stream;
  }
  ++default_stream_uses;
  if (!default_stream) default_stream = std::make_unique<ihipStream_t>(0, 0);
  return *default_stream;
}

// The end of an allocation is the end of a page, as near as its alignment allows; the page behind it is closed.
void* EmulatedHip::State::allocate(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  const std::size_t used = (bytes + alignment - 1) / alignment * alignment;
  const std::size_t open = (used + page_size() - 1) / page_size() * page_size();
  const std::lock_guard lock(mutex);
  void* pages = mmap(nullptr, open + page_size(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(pages);
  if (accesses > 0) mprotect(first, open, PROT_READ | PROT_WRITE);
  std::byte* memory = first + open - used;
  allocations.emplace(memory, Allocation{bytes, first, open + page_size()});
  return memory;
}

void EmulatedHip::State::release(void* memory) {
  const std::lock_guard lock(mutex);
  const auto found = allocations.find(static_cast<std::byte*>(memory));
  if (found == allocations.end()) {
    complaints.emplace_back("memory was freed that is not allocated");
    return;
  }
  munmap(found->second.pages, found->second.page_bytes);
  allocations.erase(found);
}

bool EmulatedHip::State::owns(const void* memory, std::size_t bytes) const {
  const auto* address = static_cast<const std::byte*>(memory);
  for (const auto& [begin, allocation] : allocations) {
    if (address >= begin && address + bytes <= begin + allocation.bytes) return true;
  }
  return false;
}

EmulatedHip::State::Access::Access() {
  State& state = EmulatedHip::get().state();
  const std::lock_guard lock(state.mutex);
  if (state.accesses++ > 0) return;
  for (const auto& [memory, allocation] : state.allocations) {
    mprotect(allocation.pages, allocation.page_bytes - page_size(), PROT_READ | PROT_WRITE);
  }
}

EmulatedHip::State::Access::~Access() {
  State& state = EmulatedHip::get().state();
  const std::lock_guard lock(state.mutex);
  if (--state.accesses > 0) return;
  for (const auto& [memory, allocation] : state.allocations) {
    mprotect(allocation.pages, allocation.page_bytes - page_size(), PROT_NONE);
  }
}

}  // namespace hone::test
