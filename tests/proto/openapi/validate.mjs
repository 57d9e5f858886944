// Judges an OpenAPI document, and JSON by its schemas:
//
//   node --input-type=module - DOCUMENT CASES < validate.mjs
//
// in the folder that has the validators. CASES is a list of {name, schema, value, valid}. Prints
// what is wrong, a line each.
import { readFileSync } from "node:fs";
import { Validator } from "@seriousme/openapi-schema-validator";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [, , documentPath, casesPath] = process.argv;
const document = JSON.parse(readFileSync(documentPath, "utf8"));

const judged = await new Validator().validate(document);
if (!judged.valid) console.log(`the document: ${JSON.stringify(judged.errors)}`);

// OpenAPI's own words are no keywords of JSON Schema.
const ajv = new Ajv2020.default({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: "api", ...document });
for (const { name, schema, value, valid } of JSON.parse(readFileSync(casesPath, "utf8"))) {
  const check = ajv.getSchema(`api#/components/schemas/${schema}`);
  if (check === undefined) {
    console.log(`${name}: there is no schema ${schema}`);
  } else if (check(value) !== valid) {
    console.log(`${name}: ${valid ? ajv.errorsText(check.errors) : "is not refused"}`);
  }
}
