#include "workers/compile/hiprtc.hpp"

#include <hip/hiprtc.h>

#include <memory>
#include <stdexcept>
#include <type_traits>

#include "workers/compile/hiprtc_options.hpp"

namespace hone::workers {
namespace {

struct Destroy {
  void operator()(hiprtcProgram program) const noexcept { hiprtcDestroyProgram(&program); }
};
using Program = std::unique_ptr<std::remove_pointer_t<hiprtcProgram>, Destroy>;

std::string log_of(hiprtcProgram program) {
  std::size_t size = 0;
  if (hiprtcGetProgramLogSize(program, &size) != HIPRTC_SUCCESS || size == 0) return {};
  std::string log(size, '\0');
  if (hiprtcGetProgramLog(program, log.data()) != HIPRTC_SUCCESS) return {};
  return log;
}

[[noreturn]] void fail(hiprtcResult result, const std::string& log) {
  throw std::runtime_error(log.empty() ? hiprtcGetErrorString(result) : log);
}

}  // namespace

Code compile_by_hiprtc(const CompileRequest& request) {
  hiprtcProgram raw = nullptr;
  const hiprtcResult created =
      hiprtcCreateProgram(&raw, request.source.c_str(), request.name.c_str(), 0, nullptr, nullptr);
  if (created != HIPRTC_SUCCESS) fail(created, {});
  const Program program(raw);
  std::vector<std::string> options = target_options(request.architecture);
  options.insert(options.end(), request.options.begin(), request.options.end());
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const hiprtcResult compiled = hiprtcCompileProgram(raw, static_cast<int>(texts.size()), texts.data());
  if (compiled != HIPRTC_SUCCESS) fail(compiled, log_of(raw));
  std::size_t size = 0;
  if (const hiprtcResult asked = hiprtcGetCodeSize(raw, &size); asked != HIPRTC_SUCCESS || size == 0) {
    fail(asked, log_of(raw));
  }
  Code code(size);
  if (const hiprtcResult got = hiprtcGetCode(raw, reinterpret_cast<char*>(code.data())); got != HIPRTC_SUCCESS) {
    fail(got, {});
  }
  return code;
}

}  // namespace hone::workers
