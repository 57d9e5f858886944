// Makes the page: node build.mjs BUILD_FOLDER PROTO_FOLDER PROTOC PROTO...
//
// BUILD_FOLDER has node_modules, as `npm ci` made it of package-lock.json. It gets the types of the
// messages, the page's files in gzip, and page_files.cc, which embeds them.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const [folder, protos, protoc, ...names] = process.argv.slice(2);
const source = path.dirname(fileURLToPath(import.meta.url));
const modules = path.join(folder, "node_modules");
const bin = (name) => path.join(modules, ".bin", name);
const run = (program, ...flags) => execFileSync(program, flags, { stdio: "inherit" });

mkdirSync(path.join(folder, "api"), { recursive: true });
run(
  protoc,
  "-I",
  protos,
  `--plugin=protoc-gen-es=${bin("protoc-gen-es")}`,
  `--es_out=${path.join(folder, "api")}`,
  "--es_opt=target=ts,import_extension=none,json_types=true",
  ...names,
);

// The sources stay where they are: what they import is found from here.
writeFileSync(
  path.join(folder, "tsconfig.json"),
  JSON.stringify({
    extends: path.join(source, "tsconfig.json"),
    compilerOptions: {
      paths: {
        "api/*": [path.join(folder, "api", "sextant", "v1", "*")],
        "*": [path.join(modules, "@types", "*"), path.join(modules, "*")],
      },
    },
    include: [path.join(source, "**", "*.ts")],
  }),
);
run(bin("tsc"), "-p", path.join(folder, "tsconfig.json"));

const esbuild = createRequire(path.join(folder, "x.js"))("esbuild");
const bundled = new Set(); // packages that the page has code of
function bundle(entry) {
  const built = esbuild.buildSync({
    entryPoints: [path.join(source, entry)],
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    nodePaths: [modules],
    legalComments: "none",
    metafile: true,
  });
  for (const input of Object.keys(built.metafile.inputs)) {
    const name = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(input)?.[1];
    if (name) bundled.add(name);
  }
  return built.outputFiles[0].contents;
}

// By a hash of their content: a browser may keep them for ever.
const hashed = (content, name, ending) =>
  `page/${name}.${createHash("sha256").update(content).digest("hex").slice(0, 16)}.${ending}`;
const script = bundle("main.ts");
const style = bundle("style.css");
const scriptPath = hashed(script, "page", "js");
const stylePath = hashed(style, "page", "css");
const html = readFileSync(path.join(source, "index.html"), "utf8")
  .replace("page.js", scriptPath)
  .replace("page.css", stylePath);

// For the program's bill of materials (deploy/sbom.sh).
const version = (name) =>
  JSON.parse(readFileSync(path.join(modules, name, "package.json"), "utf8")).version;
const packages = [...bundled].sort().map((name) => `${name} ${version(name)} npm\n`);
writeFileSync(path.join(folder, "packages"), packages.join(""));

const files = [
  { path: "", type: "text/html; charset=utf-8", name: "index.html.gz", content: html },
  { path: scriptPath, type: "text/javascript; charset=utf-8", name: "page.js.gz", content: script },
  { path: stylePath, type: "text/css; charset=utf-8", name: "page.css.gz", content: style },
];
let assembly = "";
let symbols = "";
let rows = "";
for (const [i, file] of files.entries()) {
  // The program's bytes, which node's own zlib makes otherwise on other processors.
  const gzip = execFileSync("gzip", ["-9n"], { input: file.content });
  writeFileSync(path.join(folder, file.name), gzip);
  assembly +=
    `    "sextant_page_${i}: .incbin \\"${path.join(folder, file.name)}\\"\\n"\n` +
    `    "sextant_page_${i}_end: .byte 0\\n"\n` +
    `    ".global sextant_page_${i}, sextant_page_${i}_end\\n"\n`;
  symbols += `extern const char sextant_page_${i}[], sextant_page_${i}_end[];\n`;
  rows += `    {"/${file.path}", "${file.type}", sextant_page_${i}, sextant_page_${i}_end},\n`;
}
// In a C++ file, to which the compiler adds what it adds to all others: notes of its hardening.
writeFileSync(
  path.join(folder, "page_files.cc"),
  `// Written by build.mjs.
#include "server/page/page_files.h"

asm(".pushsection .rodata\\n"
${assembly}    ".popsection\\n");

extern "C" {
${symbols}}

namespace sextant::server {
namespace {

struct Row {
  absl::string_view path;
  absl::string_view content_type;
  const char* begin;
  const char* end;
};

const Row kRows[] = {
${rows}};

}  // namespace

absl::optional<PageFile> PageFileOf(absl::string_view path) {
  for (const Row& row : kRows) {
    if (row.path != path) continue;
    const absl::string_view gzip(row.begin, static_cast<size_t>(row.end - row.begin));
    return PageFile{row.content_type, gzip};
  }
  return absl::nullopt;
}

}  // namespace sextant::server
`,
);
