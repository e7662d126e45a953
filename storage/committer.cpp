#include "storage/committer.hpp"

#include <hone/error.hpp>
#include <utility>

namespace hone::storage {
namespace {

constexpr std::size_t most_changes_of_a_commit = 16384;

}  // namespace

Committer::Committer(Commit commit, std::function<void()> tick, std::chrono::nanoseconds interval,
                     std::chrono::nanoseconds shutdown_timeout)
    : commit_(std::move(commit)),
      tick_(std::move(tick)),
      interval_(interval),
      shutdown_timeout_(shutdown_timeout),
      thread_([this] { run(); }) {}

Committer::~Committer() {
  if (guard_.forked()) {
    thread_.detach();  // there is no such thread here
    return;
  }
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    deadline_ = std::chrono::steady_clock::now() + shutdown_timeout_;
  }
  arrived_.notify_all();
  thread_.join();
}

void Committer::submit(std::vector<Change> changes, Done done) {
  if (guard_.forked()) {
    if (done) done(make_error_code(Errc::forked));
    return;
  }
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(changes), std::move(done), {}});
    ++submitted_;
  }
  arrived_.notify_one();
}

void Committer::post(std::function<void()> task) {
  if (guard_.forked()) return;
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({{}, {}, std::move(task)});
    ++submitted_;
  }
  arrived_.notify_one();
}

bool Committer::flush(std::chrono::nanoseconds timeout) {
  if (guard_.forked()) return false;
  if (std::this_thread::get_id() == thread_.get_id()) return true;
  std::unique_lock lock(mutex_);
  const std::uint64_t target = submitted_;
  return finished_.wait_for(lock, timeout, [&] { return completed_ >= target; });
}

std::vector<Committer::Entry> Committer::take_group() {
  std::vector<Entry> group;
  std::size_t changes = 0;
  while (!queue_.empty() && changes < most_changes_of_a_commit) {
    const bool task = static_cast<bool>(queue_.front().task);
    if (task && !group.empty()) break;
    changes += queue_.front().changes.size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
    if (task) break;
  }
  return group;
}

void Committer::process(std::vector<Entry> group, bool abandoned) {
  if (group.front().task) {
    group.front().task();
    return;
  }
  std::error_code error = make_error_code(Errc::shut_down);
  if (!abandoned) {
    std::vector<Change> changes;
    for (Entry& entry : group) {
      changes.insert(changes.end(), std::make_move_iterator(entry.changes.begin()),
                     std::make_move_iterator(entry.changes.end()));
    }
    error = changes.empty() ? std::error_code() : commit_(changes);
  }
  for (const Entry& entry : group) {
    if (entry.done) entry.done(error);
  }
}

void Committer::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const bool work = arrived_.wait_for(lock, interval_, [this] { return stopping_ || !queue_.empty(); });
    if (!work) {
      lock.unlock();
      if (tick_) tick_();
      lock.lock();
      continue;
    }
    if (queue_.empty()) return;
    std::vector<Entry> group = take_group();
    const std::uint64_t count = group.size();
    const bool abandoned = stopping_ && std::chrono::steady_clock::now() >= deadline_;
    lock.unlock();
    process(std::move(group), abandoned);
    lock.lock();
    completed_ += count;
    finished_.notify_all();
  }
}

}  // namespace hone::storage
