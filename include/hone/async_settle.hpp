// Engine::async_settle; included by hone/engine.hpp.
#pragma once

#include <hone/engine.hpp>

namespace hone {

template <class P, class CompletionToken>
auto Engine::async_settle(const P& problem, CompletionToken&& token, CallOptions options) {
  const auto initiate = [this](auto&& handler, Problem erased, CallOptions call_options) {
    using Handler = std::decay_t<decltype(handler)>;
    // One allocation holds what the engine's thread hands back to the handler's executor.
    struct Waiting {
      Handler handler;
      // Keeps the executor's context busy until the handler has run.
      std::decay_t<decltype(asio::prefer(std::declval<asio::associated_executor_t<Handler>>(),
                                         asio::execution::outstanding_work.tracked))>
          work;
    };
    auto executor = asio::get_associated_executor(handler);
    auto cancellation = asio::get_associated_cancellation_slot(handler);
    auto waiting = std::make_shared<Waiting>(Waiting{
        std::forward<decltype(handler)>(handler), asio::prefer(executor, asio::execution::outstanding_work.tracked)});
    const std::uint64_t ticket = settle_ticket();
    if (cancellation.is_connected()) {
      cancellation.assign([cancel = settle_canceller(ticket)](asio::cancellation_type type) {
        if (type != asio::cancellation_type::none) cancel();
      });
    }
    settle_start(ticket, erased, call_options, [waiting](std::error_code error, Solution solution) {
      asio::post(waiting->work, [waiting, error, solution]() mutable {
        // The slot belongs to the handler's executor: it is cleared here and nowhere else.
        if (auto slot = asio::get_associated_cancellation_slot(waiting->handler); slot.is_connected()) slot.clear();
        Handler ready = std::move(waiting->handler);
        waiting.reset();
        std::move(ready)(error, solution);
      });
    });
  };
  // GCC 12 destroys arguments of asio's coroutine twice unless destroying them does nothing.
  static_assert(std::is_trivially_destructible_v<Problem> && std::is_trivially_destructible_v<CallOptions>);
  return asio::async_initiate<CompletionToken, void(std::error_code, Solution)>(initiate, token, Problem(problem),
                                                                                options);
}

}  // namespace hone
