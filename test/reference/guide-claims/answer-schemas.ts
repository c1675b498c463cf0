/** Checks answers against the OpenAPI document that a program serves. */
import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

// biome-ignore lint/suspicious/noExplicitAny: the document is read member by member, and a wrong shape fails the assertion.
type Json = any;

const base = 'https://reference.example/';
const absolute = (node: Json): Json =>
  JSON.parse(JSON.stringify(node).replaceAll('"#/components/', `"${base}#/components/`));

/** The errors of an answer of a path, by the schemas of its successes or of its refusals; undefined: the document has none. */
export const createAnswerCheck = (document: Json): ((path: string, answer: Json) => ErrorObject[] | undefined) => {
  const ajv = new Ajv2020({ strict: false });
  addFormats.default(ajv);
  ajv.addSchema({ $id: base, components: absolute(document.components) });
  const compiled = new Map<string, ValidateFunction>();

  const schemasOf = (path: string, isRefusal: boolean): Json[] =>
    Object.values<Json>(document.paths[path] ?? {})
      .flatMap(({ responses }) => Object.entries<Json>(responses))
      .filter(([status]) => (status !== '200') === isRefusal)
      .map(([, { $ref, ...response }]) =>
        $ref === undefined ? response : document.components.responses[$ref.split('/').at(-1)],
      )
      .flatMap(({ content }) => Object.values<Json>(content ?? {}).map(({ schema }) => schema));

  return (path, answer) => {
    const key = `${path} ${'error' in answer || 'code' in answer}`;
    let fits = compiled.get(key);
    if (fits === undefined) {
      const anyOf = schemasOf(path, key.endsWith('true'));
      if (anyOf.length === 0) return undefined;
      fits = ajv.compile({ anyOf: absolute(anyOf) });
      compiled.set(key, fits);
    }
    fits(answer);
    return fits.errors ?? [];
  };
};
