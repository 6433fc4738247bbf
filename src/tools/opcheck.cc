// palimpsest opcheck: each operator of a library on guarded memory, each in a process of its own.
#include "opcheck/opcheck.h"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <map>
#include <sstream>

#include "driver/compile.h"
#include "driver/program_impl.h"
#include "interpret/bind.h"
#include "interpret/interpret.h"
#include "report/json_text.h"
#include "tools/compare.h"
#include "tools/verbs.h"

namespace palimpsest::tools {
namespace {

// A report as lines of words separated by tabs, for the pipe.
std::string Encode(const opcheck::Report& report) {
  std::string text = fmt::format("calls\t{}\n", report.calls);
  if (!report.refusal.empty()) text += fmt::format("refusal\t{}\n", report.refusal);
  if (report.is_random) text += "random\t\n";
  for (const opcheck::Fault& f : report.faults) {
    text += fmt::format("fault\t{}\t{}\t{}\n", f.kind, f.argument, f.call);
  }
  return text;
}

opcheck::Report Decode(const std::string& text) {
  opcheck::Report report;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::vector<std::string> words;
    std::istringstream parts(line);
    for (std::string word; std::getline(parts, word, '\t');) words.push_back(word);
    words.resize(4);
    if (words[0] == "calls") report.calls = std::stoi(words[1]);
    if (words[0] == "refusal") report.refusal = words[1];
    if (words[0] == "random") report.is_random = true;
    if (words[0] == "fault") report.faults.push_back({words[1], words[2], words[3]});
  }
  return report;
}

std::string ReadAll(int file) {
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(file, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  return text;
}

using Calls = std::vector<opcheck::OperatorCall>;

// The calls that a program makes, by operator.
Result<std::map<std::string, Calls>> CallsOf(const CommandLine& command, const Program& program) {
  const Program::Impl& impl = program.impl();
  PAL_TRY(impl.runnable);
  std::vector<Value> state(impl.program.num_inputs());
  for (size_t i = 0; i < state.size(); ++i) {
    auto it = impl.state.find(impl.input_spec(i).target);
    if (!impl.is_user(i) && it != impl.state.end()) state[i] = Value(it->second);
  }
  PAL_TRY(std::vector<Value> user, MakeInputs(command, program));
  PAL_TRY(std::vector<Value> inputs, driver::AssembleInputs(impl, user, state));
  PAL_TRY(std::vector<Value> copies, CloneSharing(inputs));
  PAL_TRY(interpret::BindSymbols(impl.program, copies));
  PAL_TRY(interpret::Trace trace, interpret::Interpret(impl.program, copies));
  std::map<std::string, Calls> calls;
  for (size_t i = 0; i < impl.program.nodes.size(); ++i) {
    const ir::Node& node = impl.program.nodes[i];
    if (node.op == nullptr || !node.op->traits.custom) continue;
    calls[node.op->schema.Key()].push_back(opcheck::CallWith(*node.op, trace.args[i]));
  }
  return calls;
}

[[noreturn]] void CheckAndExit(const op::Op& op, const Calls& given,
                               const opcheck::CheckOptions& options, int file) {
  Result<opcheck::Report> report = opcheck::CheckOperator(op, given, options);
  const std::string text = report.ok() ? Encode(*report) : "refusal\t" + report.error().ToString();
  const bool written = write(file, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  _exit(report.ok() && written ? 0 : 1);
}

// An operator that crashes takes only its own process along.
Result<opcheck::Report> CheckInChild(const op::Op& op, const Calls& given,
                                     const opcheck::CheckOptions& options) {
  int ends[2];
  if (pipe(ends) != 0) return RuntimeFailure("no pipe for the operator's process", "os");
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) return RuntimeFailure("no process for the operator", "os");
  if (child == 0) {
    close(ends[0]);
    CheckAndExit(op, given, options, ends[1]);
  }
  close(ends[1]);
  opcheck::Report report = Decode(ReadAll(ends[0]));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  report.op = op.schema.Key();
  if (WIFSIGNALED(status)) {
    report.faults.push_back({fmt::format("crash (signal {})", WTERMSIG(status)), "", ""});
  }
  return report;
}

void Print(const opcheck::Report& report) {
  if (report.faults.empty() && report.calls > 0) {
    fmt::print("{}: ok, {} calls{}\n", report.op, report.calls,
               report.is_random ? " (gives other values each time: not compared)" : "");
  } else if (report.faults.empty()) {
    fmt::print(
        "{}: not checked, no arguments found that it accepts (a program that calls it helps: "
        "--calls-of MODEL): {}\n",
        report.op, report.refusal);
  }
  for (const opcheck::Fault& f : report.faults) {
    fmt::print("{}: {}{}{}\n", report.op, f.kind,
               f.argument.empty() ? "" : fmt::format(": {}", f.argument),
               f.call.empty() ? "" : fmt::format(" (with {})", f.call));
  }
}

std::string ToJson(const std::vector<opcheck::Report>& reports) {
  report::JsonText json;
  json.BeginObject();
  json.Key("schema").Text("palimpsest.opcheck/1");
  json.Key("operators").BeginList();
  for (const opcheck::Report& r : reports) {
    json.BeginObject();
    json.Key("name").Text(r.op);
    json.Key("calls").Number(int64_t{r.calls});
    json.Key("faults").BeginList();
    for (const opcheck::Fault& f : r.faults) {
      json.BeginObject();
      json.Key("kind").Text(f.kind);
      json.Key("argument").Text(f.argument);
      json.Key("call").Text(f.call);
      json.EndObject();
    }
    json.EndList();
    json.EndObject();
  }
  json.EndList();
  json.EndObject();
  return json.Take();
}

}  // namespace

Result<int> OpCheck(const CommandLine& command) {
  Operators operators;
  PAL_TRY(operators.LoadLibrary(command.model));
  std::map<std::string, Calls> given;
  if (!command.calls_of.empty()) {
    PAL_TRY(Program program, Program::Load(command.calls_of, operators));
    PAL_TRY(given, CallsOf(command, program));
  }
  opcheck::CheckOptions options;
  options.seed = command.seed;
  std::vector<opcheck::Report> reports;
  bool found = false;
  for (const op::Op* op : operators.state()->table.All()) {
    if (!op->traits.custom) continue;
    PAL_TRY(opcheck::Report report, CheckInChild(*op, given[op->schema.Key()], options));
    found = found || !report.faults.empty();
    if (!command.json) Print(report);
    reports.push_back(std::move(report));
  }
  if (command.json) fmt::print("{}\n", ToJson(reports));
  return found ? 1 : 0;
}

}  // namespace palimpsest::tools
