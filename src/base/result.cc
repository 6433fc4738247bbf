#include "palimpsest/result.h"

namespace palimpsest {

int ExitCode(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kContract:
      return 1;
    case ErrorKind::kUsage:
      return 2;
    case ErrorKind::kBadInput:
      return 3;
    case ErrorKind::kUnsupported:
    case ErrorKind::kUnknownOperator:
      return 4;
    case ErrorKind::kInternal:
      return 5;
    case ErrorKind::kRuntime:
      return 6;
  }
  return 5;
}

const char* ErrorKindName(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kContract:
      return "contract";
    case ErrorKind::kUsage:
      return "usage";
    case ErrorKind::kBadInput:
      return "bad input";
    case ErrorKind::kUnsupported:
      return "unsupported";
    case ErrorKind::kUnknownOperator:
      return "unknown operator";
    case ErrorKind::kInternal:
      return "internal";
    case ErrorKind::kRuntime:
      return "failed while running";
  }
  return "internal";
}

std::string Error::ToString() const {
  std::string text = place.empty() ? "" : place + ": ";
  text += "error: ";
  if (kind == ErrorKind::kInternal) text += "internal: ";
  return text + message;
}

Error BadInput(std::string message, std::string reason) {
  return {ErrorKind::kBadInput, std::move(reason), std::move(message), ""};
}
Error Unsupported(std::string message) {
  return {ErrorKind::kUnsupported, "", std::move(message), ""};
}
Error RuntimeFailure(std::string message, std::string reason) {
  return {ErrorKind::kRuntime, std::move(reason), std::move(message), ""};
}
Error UsageError(std::string message) { return {ErrorKind::kUsage, "", std::move(message), ""}; }
Error ContractBroken(std::string message) {
  return {ErrorKind::kContract, "", std::move(message), ""};
}
Error InternalError(std::string message) {
  return {ErrorKind::kInternal, "", std::move(message), ""};
}
Error Refused(std::string reason, std::string message) {
  return {ErrorKind::kBadInput, std::move(reason), std::move(message), ""};
}

}  // namespace palimpsest
