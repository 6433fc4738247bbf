// The only file that includes CLI11: it is slow to compile.
#include "tools/command_line.h"

#include <CLI/CLI.hpp>

namespace palimpsest::tools {
namespace {

// The example comes first, then what the verb does.
CLI::App* AddVerb(CLI::App& app, CommandLine& c, const std::string& name,
                  const std::string& example, const std::string& what) {
  CLI::App* verb = app.add_subcommand(name, example + "\n\n" + what);
  verb->add_option("MODEL", c.model, "a .pt2 file, or a graph as PyTorch prints it")->required();
  verb->add_flag("--json", c.json, "print JSON");
  verb->callback([&c, name] { c.verb = name; });
  return verb;
}

void AddInputs(CLI::App* verb, CommandLine& c) {
  verb->add_option("--ops", c.libraries, "a library of operators (again for more)");
  verb->add_option("--input", c.inputs,
                   "NAME=@FILE.npy, NAME=f32[2,3][3,1]:rand(7) (strides may be left out; also "
                   "zeros, ones, arange, a number), or NAME=3, 0.5, True, None");
  verb->add_option("--inputs", c.inputs_folder, "a folder with NAME.npy for each input");
  verb->add_option("--seed", c.seed, "of random default inputs, and of the session's generator");
  verb->add_option("--max-memory", c.max_memory, "limit in bytes for all tensors together");
}

void AddOptions(CLI::App* verb, CommandLine& c) {
  verb->add_option("--functionalize", c.options.functionalize, "v1 or v2 (default)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, FunctionalizeVersion>{
          {"v1", FunctionalizeVersion::kV1}, {"v2", FunctionalizeVersion::kV2}}));
  verb->add_flag("--keep-order", c.options.keep_order, "run the operators in their order");
  verb->add_flag("--always-copy", c.options.always_copy, "put nothing in place");
  verb->add_option("--disable-pass", c.options.disabled_passes, "a pass to leave out");
  verb->add_option("--max-copied-bytes", c.options.max_copied_bytes,
                   "fail (exit code 1) if a call would copy more");
  verb->add_option("--forbid-copy", c.options.forbid_copy,
                   "an input (or base) of which no byte may be copied; else exit code 1");
  verb->add_option("--must-alias", c.options.must_alias,
                   "an input that must be written in place, or a result that must lie in the "
                   "memory of an input; else exit code 1");
}

void AddVerbs(CLI::App& app, CommandLine& c) {
  CLI::App* run = AddVerb(app, c, "run", "palimpsest run model.pt2 --ops libmy.so --input x=@x.npy",
                          "Runs a program and prints one line per result.");
  AddInputs(run, c);
  AddOptions(run, c);
  run->add_option("--calls", c.calls, "how often, on the same inputs and state")
      ->check(CLI::PositiveNumber);
  run->add_option("--output", c.output_folder, "a folder for the results as .npy files");

  CLI::App* explain = AddVerb(app, c, "explain", "palimpsest explain model.pt2 --ops libmy.so",
                              "Says for each tensor that is written whether that happens in place, "
                              "and what forces a copy.");
  AddInputs(explain, c);
  AddOptions(explain, c);

  CLI::App* opt = AddVerb(app, c, "opt", "palimpsest opt graph.py --print-after-all",
                          "Takes a program through the passes and prints the last graph.");
  AddInputs(opt, c);
  AddOptions(opt, c);
  opt->add_option("--passes", c.passes,
                  "names, in order, separated by commas (default: the whole pipeline)")
      ->delimiter(',');
  opt->add_option("--print-after", c.print_after, "print the graph after this pass");
  opt->add_flag("--print-after-all", c.print_after_all, "print the graph after every pass");

  CLI::App* inspect = AddVerb(app, c, "inspect", "palimpsest inspect model.pt2",
                              "Lists inputs, results, state and operators of a program.");
  inspect->add_option("--ops", c.libraries, "a library of operators (again for more)");
  inspect->add_flag("--text", c.text, "print the graph");

  CLI::App* verify = AddVerb(app, c, "verify", "palimpsest verify model.pt2 --ops libmy.so",
                             "Compares the compiled program with the interpreter: results, changed "
                             "inputs, state, aliasing, strides. Exit code 1 if they differ.");
  AddInputs(verify, c);
  AddOptions(verify, c);
  verify->add_option("--calls", c.calls, "how often")->check(CLI::PositiveNumber);

  CLI::App* opcheck = app.add_subcommand(
      "opcheck",
      "palimpsest opcheck libmy.so\n\nRuns each operator of a library on guarded "
      "memory and compares what it does with its schema. Exit code 1 if one does "
      "something else.");
  opcheck->add_option("LIB", c.model, "a library of operators")->required();
  opcheck->add_option("--calls-of", c.calls_of, "a program: the calls that it makes are tried too");
  opcheck->add_option("--seed", c.seed, "of the random arguments");
  opcheck->add_flag("--json", c.json, "print JSON");
  opcheck->callback([&c] { c.verb = "opcheck"; });

  CLI::App* strides = app.add_subcommand("strides",
                                         "palimpsest strides add --in \"f32[2,3,8][24,8,1]\" --in "
                                         "\"f32[8]\"\n\nSays how the result of "
                                         "an operation lies in memory, and which rule decided.");
  strides->add_option("OP", c.model, "an operator of aten: add, exp, where, sum, ...")->required();
  strides->add_option("--in", c.inputs,
                      "f32[2,3][3,1] (strides may be left out), or a number; in order");
  strides->add_option("--out", c.out, "the out= tensor, as f32[2,3][3,1]");
  strides->add_flag("--inplace", c.in_place, "the in-place form: the first input is written");
  strides->add_flag("--json", c.json, "print JSON");
  strides->callback([&c] { c.verb = "strides"; });

  CLI::App* operators = app.add_subcommand(
      "operators",
      "palimpsest operators --ops libmy.so\n\nLists the schemas of all known operators.");
  operators->add_option("--ops", c.libraries, "a library of operators (again for more)");
  operators->add_flag("--json", c.json, "print JSON");
  operators->callback([&c] { c.verb = "operators"; });
}

}  // namespace

ParsedCommandLine ParseCommandLine(int argc, char** argv) {
  ParsedCommandLine parsed;
  CLI::App app(
      "palimpsest run model.pt2\n\nRuns PyTorch programs that write to memory, without "
      "copies that need not be.");
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 ok, 1 a check failed, 2 usage, 3 bad input, 4 unsupported or unknown "
      "operator, 5 a bug of palimpsest, 6 failure while running.");
  AddVerbs(app, parsed.command);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    int code = app.exit(error);
    parsed.exit_code = code == 0 ? 0 : ExitCode(ErrorKind::kUsage);
  }
  return parsed;
}

}  // namespace palimpsest::tools
