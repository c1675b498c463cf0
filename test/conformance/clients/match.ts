/** Comparison of an answer with what a step expects (scenario.json, `form`). */

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const rules: Readonly<Record<string, (actual: unknown, bound: unknown) => boolean>> = {
  $any: (actual) => actual !== null && actual !== undefined,
  $atLeast: (actual, bound) => Number(Array.isArray(actual) ? actual.length : actual) >= Number(bound),
  $contains: (actual, part) => Array.isArray(actual) && actual.some((one) => matches(one, part)),
  $without: (actual, part) => Array.isArray(actual) && !actual.some((one) => matches(one, part)),
};

/** Members that are not named in `expected` may be anything. */
export const matches = (actual: unknown, expected: unknown): boolean => {
  if (Array.isArray(expected))
    return (
      Array.isArray(actual) &&
      actual.length === expected.length &&
      expected.every((one, index) => matches(actual[index], one))
    );
  if (!isObject(expected)) return Object.is(actual, expected);
  const [[name = '', bound] = []] = Object.entries(expected);
  const rule = rules[name];
  if (rule !== undefined) return rule(actual, bound);
  if (typeof actual !== 'object' || actual === null) return false;
  return Object.entries(expected).every(([key, one]) => matches((actual as Record<string, unknown>)[key], one));
};

/** `value.products.0.uid` of an answer. */
export const partOf = (answer: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((found, key) => (found as Record<string, unknown> | null | undefined)?.[key], answer);

/** Fills `${name}` in; a text that is only that becomes the value itself. Throws for a name that is not known. */
export const fill = (node: unknown, variables: Readonly<Record<string, unknown>>): unknown => {
  const variable = (name: string): unknown => {
    if (variables[name] === undefined) throw new Error(`no step saved ${name}`);
    return variables[name];
  };
  if (typeof node === 'string') {
    const [, only] = /^\$\{(\w+)\}$/.exec(node) ?? [];
    if (only !== undefined) return variable(only);
    return node.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => String(variable(name)));
  }
  if (Array.isArray(node)) return node.map((one) => fill(one, variables));
  if (!isObject(node)) return node;
  return Object.fromEntries(Object.entries(node).map(([name, value]) => [name, fill(value, variables)]));
};
