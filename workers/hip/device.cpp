#include <hone/hip.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <hone/error.hpp>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "kernels/hip/kernel_device.hpp"
#include "workers/compile/child_compiler.hpp"
#include "workers/hip/compiler_path.hpp"
#include "workers/hip/device.hpp"
#include "workers/hip/load.hpp"
#include "workers/hip/module.hpp"
#include "workers/hip/platform.hpp"
#include "workers/hip/stream.hpp"

namespace hone {
namespace hip {
namespace {

std::string version_of(hipError_t (*ask)(int*)) {
  int version = 0;
  return ask(&version) == hipSuccess ? std::to_string(version) : "unknown";
}

// Never by the marketing name, which some drivers leave empty.
Environment environment_of(const hipDeviceProp_t& properties) {
  Environment environment;
  environment.vendor = platform.vendor;
  environment.architecture = properties.gcnArchName;
  environment.device = fmt::format("{} {}", properties.multiProcessorCount, platform.compute_units);
  environment.facts["clock"] = fmt::format("{} kHz", properties.clockRate);
  environment.facts["memory clock"] = fmt::format("{} kHz", properties.memoryClockRate);
  environment.facts["memory bus"] = fmt::format("{} bit", properties.memoryBusWidth);
  environment.facts["memory"] = fmt::format("{} bytes", properties.totalGlobalMem);
  environment.facts[fmt::format("{} driver", platform.facts)] = version_of(&hipDriverGetVersion);
  environment.facts[fmt::format("{} runtime", platform.facts)] = version_of(&hipRuntimeGetVersion);
  return environment;
}

// Copies pass through memory of the device's: one that goes out of service may still use what a copy was given.
constexpr std::size_t staging_bytes = std::size_t{4} << 20;

void keep_for_ever(std::unique_ptr<std::byte[]> memory) {
  static std::mutex mutex;
  static auto* const kept = new std::vector<std::unique_ptr<std::byte[]>>;
  const std::lock_guard lock(mutex);
  kept->push_back(std::move(memory));
}

DeviceLimits limits_of(const hipDeviceProp_t& properties, std::string_view architecture) {
  DeviceLimits limits;
  limits.wave_size = properties.warpSize;
  limits.max_work_group = properties.maxThreadsPerBlock;
  limits.local_memory_bytes = static_cast<std::int64_t>(properties.sharedMemPerBlock);
  limits.work_group_registers = properties.regsPerBlock;
  limits.work_item_registers = platform.work_item_registers(architecture);
  return limits;
}

class HipDevice final : public Device, public KernelDevice {
 public:
  HipDevice(std::shared_ptr<Context> context, const hipDeviceProp_t& properties,
            std::unique_ptr<workers::Compiler> compiler)
      : context_(std::move(context)),
        environment_(environment_of(properties)),
        architecture_(environment_.architecture.substr(0, environment_.architecture.find(':'))),
        limits_(limits_of(properties, architecture_)),
        cache_bytes_(static_cast<std::size_t>(std::max(0, properties.l2CacheSize))),
        compiler_(std::move(compiler)),
        transfers_(std::make_shared<Transfers>(context_)),
        load_(make_load(properties.multiProcessorCount)) {}

  const std::string& name() const noexcept override { return context_->name(); }
  const Environment& environment() const noexcept override { return environment_; }

  std::unique_ptr<Stream> make_stream(StreamPriority priority) override {
    check_in_service();
    return std::make_unique<HipStream>(context_, priority);
  }

  // Of the device's pool, in the order of a stream: neither allocating nor freeing waits for the caller's work.
  Buffer allocate(std::size_t bytes) override {
    check_in_service();
    const OnDevice here(*context_);
    const std::lock_guard lock(transfers_->mutex);
    void* memory = nullptr;
    const std::size_t wanted = std::max<std::size_t>(bytes, 1);
    hipError_t allocated = hipMallocAsync(&memory, wanted, transfers_->stream.native());
    // Some devices have no pool; then freeing waits for the device.
    const bool pooled = allocated != hipErrorNotSupported;
    if (!pooled) allocated = hipMalloc(&memory, wanted);
    std::error_code error = context_->check(allocated, "allocating memory");
    if (!error) error = context_->wait(transfers_->stream.native());
    if (error == Errc::no_device) check_in_service();
    if (error) {
      throw Error(Errc::out_of_memory,
                  fmt::format("device {} has no {} bytes left ({}); lower max_buffer_bytes or free memory", name(),
                              bytes, describe(allocated)));
    }
    return {static_cast<std::byte*>(memory),
            [transfers = transfers_, pooled](std::byte* p) { transfers->free(p, pooled); }};
  }

  void copy_to_device(std::byte* target, std::span<const std::byte> source) override {
    copy(source.size(), [&](std::byte* staging, std::size_t at, std::size_t size) {
      std::memcpy(staging, source.data() + at, size);
      return transfer(target + at, staging, size, hipMemcpyHostToDevice);
    });
  }
  void copy_to_host(std::span<std::byte> target, const std::byte* source) override {
    copy(target.size(), [&](std::byte* staging, std::size_t at, std::size_t size) {
      const std::error_code error = transfer(staging, source + at, size, hipMemcpyDeviceToHost);
      if (!error) std::memcpy(target.data() + at, staging, size);
      return error;
    });
  }

  std::error_code run_reference(Stream& stream) noexcept override {
    if (!load_) return std::make_error_code(std::errc::not_supported);
    float* const unused = nullptr;
    return load_->run(stream, &unused);
  }
  std::size_t last_level_cache_bytes() const noexcept override { return cache_bytes_; }
  void use(std::shared_ptr<BinaryCache> cache) override { compiler_.use(std::move(cache)); }

  const DeviceLimits& limits() const noexcept override { return limits_; }
  bool in_service() const noexcept override { return context_->in_service(); }
  std::string_view architecture() const noexcept override { return architecture_; }

  std::shared_ptr<const LoadedCode> compile(const KernelSource& source) override {
    check_in_service();
    const workers::CompileRequest request{.name = std::string(source.name),
                                          .source = std::string(source.text),
                                          .options = source.definitions,
                                          .architecture = environment_.architecture};
    const auto compiled = compiler_.compile(request);
    try {
      return load(*compiled.code);
    } catch (const std::runtime_error& error) {
      if (!compiled.from_cache || !context_->in_service()) throw;
      context_->warn(fmt::format("compiled code of {} from the database is useless: {}", source.name, error.what()));
    }
    return load(*compiler_.compile_again(request).code);
  }

  std::shared_ptr<const LoadedCode> load(std::span<const std::byte> code) override {
    check_in_service();
    return load_module(context_, code);
  }

  const std::shared_ptr<Context>& context() const noexcept { return context_; }

 private:
  // The stream of copies and allocations. Outlives the device where a buffer does.
  struct Transfers {
    explicit Transfers(const std::shared_ptr<Context>& of) : context(of), stream(of, StreamPriority::background) {}
    ~Transfers() {
      if (!context->in_service()) keep_for_ever(std::move(staging));
    }
    void free(std::byte* memory, bool pooled) noexcept {
      if (!context->in_service()) return;
      const OnDevice here(*context);
      const std::lock_guard lock(mutex);
      const hipError_t freed = pooled ? hipFreeAsync(memory, stream.native()) : hipFree(memory);
      static_cast<void>(context->check(freed, "freeing memory"));
    }
    const std::shared_ptr<Context> context;
    std::mutex mutex;
    HipStream stream;
    std::unique_ptr<std::byte[]> staging;  // of staging_bytes, made by the first copy
  };

  std::error_code transfer(void* target, const void* source, std::size_t bytes, hipMemcpyKind kind) {
    const hipStream_t stream = transfers_->stream.native();
    const hipError_t begun = hipMemcpyAsync(target, source, bytes, kind, stream);
    if (const std::error_code error = context_->check(begun, "copying memory")) return error;
    return context_->wait(stream);
  }

  // Null where hone was not compiled for the architecture: then nothing is corrected for load.
  std::unique_ptr<const PreparedLaunch> make_load(int compute_units) {
    const auto code = load_code(architecture_);
    if (code.empty()) return nullptr;
    try {
      return load(code)->prepare({.kernel = "hone_load",
                                  .groups = {static_cast<std::uint32_t>(std::max(1, compute_units)), 1, 1},
                                  .work_group = 256});
    } catch (const std::runtime_error& error) {
      context_->warn(fmt::format("no measurement is corrected for load: {}", error.what()));
      return nullptr;
    }
  }

  void check_in_service() const {
    if (!context_->in_service()) throw Error(Errc::no_device, fmt::format("device {} is out of service", name()));
  }

  // Runs `piece` for every part of `bytes` that fits into the staging memory.
  template <class Piece>
  void copy(std::size_t bytes, Piece piece) {
    if (bytes == 0) return;
    check_in_service();
    const OnDevice here(*context_);
    const std::lock_guard lock(transfers_->mutex);
    if (!transfers_->staging) transfers_->staging = std::make_unique<std::byte[]>(staging_bytes);
    for (std::size_t at = 0; at < bytes; at += staging_bytes) {
      const std::error_code error = piece(transfers_->staging.get(), at, std::min(bytes - at, staging_bytes));
      check_in_service();
      if (error) throw Error(Errc::launch_failed, fmt::format("device {}: a copy failed: {}", name(), error.message()));
    }
  }

  const std::shared_ptr<Context> context_;
  const Environment environment_;
  const std::string architecture_;
  const DeviceLimits limits_;
  const std::size_t cache_bytes_;
  workers::CachingCompiler compiler_;
  const std::shared_ptr<Transfers> transfers_;
  const std::unique_ptr<const PreparedLaunch> load_;
};

}  // namespace

std::shared_ptr<Device> make_device(int ordinal, const HipOptions& options,
                                    std::unique_ptr<workers::Compiler> compiler) {
  int count = 0;
  if (const hipError_t found = hipGetDeviceCount(&count); found != hipSuccess) {
    throw Error(Errc::no_device,
                fmt::format("{} finds no device: {}; {}", platform.runtime, describe(found), platform.no_device));
  }
  if (ordinal < 0 || ordinal >= count) {
    throw Error(Errc::no_device,
                fmt::format("there is no device hip:{}; {} finds {} (see {})", ordinal, platform.runtime,
                            count == 0 ? "none" : fmt::format("hip:0 to hip:{}", count - 1), platform.visible_devices));
  }
  hipDeviceProp_t properties{};
  if (const hipError_t read = hipGetDeviceProperties(&properties, ordinal); read != hipSuccess) {
    throw Error(Errc::no_device,
                fmt::format("{} does not describe device hip:{}: {}", platform.runtime, ordinal, describe(read)));
  }
  auto context = std::make_shared<Context>(ordinal, fmt::format("hip:{}", ordinal), options.hang_timeout);
  return std::make_shared<HipDevice>(std::move(context), properties, std::move(compiler));
}

}  // namespace hip

int hip_device_count() noexcept {
  int count = 0;
  return hipGetDeviceCount(&count) == hipSuccess ? count : 0;
}

std::shared_ptr<Device> hip_device(int ordinal, HipOptions options) {
  if (options.hang_timeout.count() <= 0) {
    throw Error(Errc::invalid_option, "HipOptions::hang_timeout must be a positive time");
  }
  if (options.compile_timeout.count() <= 0) {
    throw Error(Errc::invalid_option, "HipOptions::compile_timeout must be a positive time");
  }
  auto compiler = std::make_unique<workers::ChildCompiler>(workers::ChildCompilerOptions{
      .program = {options.compiler.empty() ? hip::compiler_path() : options.compiler},
      .version = fmt::format("{} {}", hip::platform.compiler, hip::version_of(&hipRuntimeGetVersion)),
      .timeout = options.compile_timeout,
      .memory_bytes = options.compile_memory_bytes});
  return hip::make_device(ordinal, options, std::move(compiler));
}

std::unique_ptr<Stream> hip_stream(const std::shared_ptr<Device>& device, void* stream) {
  const auto* hip = dynamic_cast<const hip::HipDevice*>(device.get());
  if (hip == nullptr) throw Error(Errc::invalid_option, "hip_stream takes a device that hip_device has made");
  return std::make_unique<hip::HipStream>(hip->context(), static_cast<hipStream_t>(stream));
}

}  // namespace hone
