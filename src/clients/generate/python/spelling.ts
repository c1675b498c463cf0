/** How types, texts and names of the model are spelled in Python 3.9. */
import { indent, wrap } from '../model/text.ts';
import type { Type } from '../model/types.ts';

const keywords = new Set(
  (
    'False None True and as assert async await break class continue def del elif else except finally for from global ' +
    'if import in is lambda nonlocal not or pass raise return try while with yield'
  ).split(' '),
);

export const isKeyword = (name: string): boolean => keywords.has(name);

/** A name of the interface as the name of an argument. */
export const argumentName = (name: string): string => (isKeyword(name) ? `${name}_` : name);

export const quoted = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

const literal = (value: string | number | boolean): string => {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  return String(value);
};

const scalars = { string: 'str', integer: 'int', number: 'float', boolean: 'bool', any: 'Any' } as const;

export const typeText = (type: Type): string => {
  const text = shapeText(type);
  return type.nullable ? `Optional[${text}]` : text;
};

const shapeText = (type: Type): string => {
  switch (type.kind) {
    case 'literals':
      return `Literal[${type.values.map(literal).join(', ')}]`;
    case 'list':
      return `List[${typeText(type.items)}]`;
    case 'map':
      return `Dict[str, ${typeText(type.values)}]`;
    case 'named':
      return type.name;
    case 'union':
      return `Union[${type.types.map(typeText).join(', ')}]`;
    default:
      return scalars[type.kind];
  }
};

const widthMax = 96;

/** A docstring, also below a member, where editors show it. */
export const docstring = (text: string, by: string): string[] => {
  const lines = wrap(text.replaceAll('\\', '\\\\').replaceAll('"""', "'''"), widthMax);
  const [first = '', ...others] = lines;
  if (others.length === 0 && first === '') return [];
  if (others.length === 0) return [`${by}"""${first.endsWith('"') ? `${first} ` : first}"""`];
  return [`${by}"""${first}`, ...indent(others, by), `${by}"""`];
};
