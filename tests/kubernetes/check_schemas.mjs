// Judges Kubernetes' objects, a list in JSON on stdin, by their schemas: of Kubernetes itself
// (kubernetes-models), of the Prometheus operator and of cert-manager. A key that a schema does not have is a fault,
// too: the API server would drop it. Prints a line for each fault, and the kinds without a schema.
import {createRequire} from 'node:module';
import {readFileSync} from 'node:fs';
import {pathToFileURL} from 'node:url';

const folder = process.argv[2];
const require = createRequire(`${folder}/package.json`);

const PACKAGES = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'cert-manager.io': '@kubernetes-models/cert-manager',
};

// The class of a kind; null where the packages lack it.
async function modelOf({apiVersion, kind}) {
  const root = PACKAGES[apiVersion.split('/')[0]] ?? 'kubernetes-models';
  try {
    const at = require.resolve(`${root}/package.json`).replace(/package\.json$/, '');
    return (await import(pathToFileURL(`${at}${apiVersion}/${kind}.js`)))[kind];
  } catch (error) {
    if (error.code === 'ERR_MODULE_NOT_FOUND') return null;
    throw error;
  }
}

// `value`, which remembers the keys that are read of each object.
function watched(value, path, read) {
  if (value === null || typeof value !== 'object') return value;
  const keys = Object.fromEntries(
      Object.entries(value).map(([key, each]) => [key, watched(each, `${path}/${key}`, read)]));
  const target = Array.isArray(value) ? Object.values(keys) : keys;
  return new Proxy(target, {
    get(object, key) {
      if (typeof key === 'string' && key in value) read.add(`${path}/${key}`);
      return object[key];
    }
  });
}

function pathsOf(value, path = '') {
  if (value === null || typeof value !== 'object') return [];
  return Object.entries(value).flatMap(
      ([key, each]) => [`${path}/${key}`, ...pathsOf(each, `${path}/${key}`)]);
}

for (const object of JSON.parse(readFileSync(0, 'utf8'))) {
  const name = `${object.kind} ${object.metadata?.name}`;
  const Model = await modelOf(object);
  if (Model === null) {
    console.log(`no schema: ${object.apiVersion} ${object.kind}`);
    continue;
  }
  const read = new Set();
  try {
    Model.prototype.validate.call(watched(object, '', read));
  } catch (error) {
    console.log(`${name}: ${error.message}`);
    continue;
  }
  for (const path of pathsOf(object)) {
    const parent = path.slice(0, path.lastIndexOf('/'));
    if (!read.has(path) && (parent === '' || read.has(parent))) {
      console.log(`${name}: ${path} is not known`);
    }
  }
}
