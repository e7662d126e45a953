#include "engine/event_hub.hpp"

#include <algorithm>
#include <exception>

#include <asio/post.hpp>

#include "engine/log.hpp"

namespace hone {

Subscription::Channel::Channel(asio::any_io_executor executor, std::function<void(const Event&)> callback)
    : executor_(std::move(executor)), callback_(std::move(callback)) {}

void Subscription::Channel::post(std::shared_ptr<const Event> event) {
  // Held until post returns: the callback may have run by then, and whoever saw it may end the executor's context.
  const std::lock_guard lock(posting_);
  if (closed()) return;
  asio::post(executor_, [self = shared_from_this(), event = std::move(event)] { self->deliver(*event); });
}

void Subscription::Channel::deliver(const Event& event) noexcept {
  const std::lock_guard lock(delivering_);
  if (closed()) return;
  try {
    callback_(event);
  } catch (const std::exception& error) {
    engine::log().error("a callback threw on event {}: {}", symbols(EventKind{})[static_cast<std::size_t>(event.kind)],
                        error.what());
  } catch (...) {
    engine::log().error("a callback threw something that is no std::exception on event {}",
                        symbols(EventKind{})[static_cast<std::size_t>(event.kind)]);
  }
}

void Subscription::Channel::close() noexcept {
  closed_.store(true, std::memory_order_release);
  {
    const std::lock_guard lock(posting_);
    executor_ = {};
  }
  const std::lock_guard lock(delivering_);
}

Subscription& Subscription::operator=(Subscription&& other) noexcept {
  if (this != &other) {
    cancel();
    channel_ = std::move(other.channel_);
  }
  return *this;
}

Subscription::~Subscription() { cancel(); }

void Subscription::cancel() noexcept {
  if (channel_) channel_->close();
  channel_.reset();
}

namespace engine {

Subscription EventHub::subscribe(asio::any_io_executor executor, std::function<void(const Event&)> callback,
                                 const std::optional<Event>& first) {
  auto channel = std::make_shared<Subscription::Channel>(std::move(executor), std::move(callback));
  const std::lock_guard lock(mutex_);
  std::erase_if(channels_, [](const auto& each) { return each->closed(); });
  if (first) channel->post(std::make_shared<const Event>(*first));
  channels_.push_back(channel);
  return Subscription(std::move(channel));
}

void EventHub::emit(Event event) {
  const auto shared = std::make_shared<const Event>(std::move(event));
  const std::lock_guard lock(mutex_);
  for (const auto& channel : channels_) channel->post(shared);
}

}  // namespace engine
}  // namespace hone
