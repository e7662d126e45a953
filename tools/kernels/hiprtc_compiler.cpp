#include "tools/kernels/hiprtc_compiler.hpp"

#if HONE_WITH_HIPRTC
#include <hip/hiprtc.h>

#include <memory>
#include <type_traits>

namespace hone::tools {
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

}  // namespace

bool has_hiprtc() noexcept { return true; }

CompileResult compile(const CompileCase& item, const std::string& architecture) {
  hiprtcProgram raw = nullptr;
  const std::string source(item.source);
  const hiprtcResult created = hiprtcCreateProgram(&raw, source.c_str(), item.kernel.c_str(), 0, nullptr, nullptr);
  if (created != HIPRTC_SUCCESS) return {{}, hiprtcGetErrorString(created)};
  const Program program(raw);
  std::vector<std::string> options = {"--offload-arch=" + architecture, "-std=c++17", "-O3"};
  options.insert(options.end(), item.definitions.begin(), item.definitions.end());
  std::vector<const char*> texts;
  for (const std::string& option : options) texts.push_back(option.c_str());
  const hiprtcResult compiled = hiprtcCompileProgram(raw, static_cast<int>(texts.size()), texts.data());
  CompileResult result{{}, log_of(raw)};
  std::size_t size = 0;
  if (compiled != HIPRTC_SUCCESS || hiprtcGetCodeSize(raw, &size) != HIPRTC_SUCCESS) {
    if (result.log.empty()) result.log = hiprtcGetErrorString(compiled);
    return result;
  }
  result.code.resize(size);
  if (hiprtcGetCode(raw, reinterpret_cast<char*>(result.code.data())) != HIPRTC_SUCCESS) result.code.clear();
  return result;
}

}  // namespace hone::tools

#else

namespace hone::tools {

bool has_hiprtc() noexcept { return false; }
CompileResult compile(const CompileCase&, const std::string&) { return {{}, "this build has no HIP compiler"}; }

}  // namespace hone::tools

#endif
