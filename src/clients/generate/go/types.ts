/** Writes the types of the client for Go: a struct for each object, a named string for each enumeration. */
import { faultTexts } from '#src/app/reference/document/error-texts.ts';
import type { FaultCode } from '#src/contract/fault.ts';
import type { Model } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import type { Member, NamedType } from '../model/types.ts';
import type { Choice, GoNames } from './read-names.ts';
import { answerType, comment, constants, goName, type Names, optionalType, plainType, quoted } from './spelling.ts';

type ObjectType = NamedType & { kind: 'object' };

const fieldLines = (member: Member, isRequest: boolean, names: Names): string[] => {
  const { name, required, type, description } = member;
  const isOptional = isRequest && !required;
  const text = isOptional ? optionalType(type, names) : answerType(type, names);
  const omitted = isOptional || (!required && !type.nullable) ? ',omitzero' : '';
  return [
    ...comment(description === '' ? `${goName(name)} of the interface.` : description, '\t'),
    `\t${goName(name)} ${text} \`json:${quoted(name + omitted)}\``,
  ];
};

/**
 * A getter of each member that may be null, which is a pointer, and of every member of an object that may be null: a chain of
 * getters needs no check for nil.
 */
const getterLines = (owner: string, { name, type }: Member, names: Names): string[] => {
  const text = answerType(type, names);
  const isPointer = text.startsWith('*');
  if (!isPointer && !names.isOptional(owner)) return [];
  const isObject = names.isObject(type);
  const field = goName(name);
  return [
    ...comment(`Get${field} is ${field}, or ${isObject ? 'nil' : 'its zero value'} when it is null.`),
    `func (x *${owner}) Get${field}() (value ${isPointer && !isObject ? text.slice(1) : text}) {`,
    `\tif x != nil${isPointer && !isObject ? ` && x.${field} != nil` : ''} {`,
    `\t\tvalue = ${isPointer && !isObject ? '*' : ''}x.${field}`,
    '\t}',
    '\treturn value',
    '}',
    '',
  ];
};

const alternativesText = ({ alternatives }: ObjectType): string => {
  const sets = alternatives.map((names) => names.map(goName).join(' and '));
  return sets.length === 0 ? '' : `\nOne of these is required: ${sets.join(', or ')}.`;
};

const headOf = (name: string, text: string): string[] => comment(`${name}: ${text === '' ? 'see its members.' : text}`);

const objectLines = (type: ObjectType, isRequest: boolean, names: Names): string[] => [
  ...headOf(type.name, type.description + alternativesText(type)),
  ...(type.members.length === 0
    ? [`type ${type.name} struct{}`]
    : [`type ${type.name} struct {`, ...type.members.flatMap((member) => fieldLines(member, isRequest, names)), '}']),
  '',
  ...(isRequest ? [] : type.members.flatMap((member) => getterLines(type.name, member, names))),
];

const aliasLines = (named: NamedType & { kind: 'alias' }, names: Names): string[] => [
  ...headOf(named.name, named.description),
  `type ${named.name} = ${plainType(named.type, names)}`,
  '',
];

const enumLines = ({ name, values }: { name: string; values: readonly string[] }): string[] => [
  ...comment(`${name} is a string, because versions 1.x may add values.`),
  `type ${name} string`,
  '',
  ...comment(`Values of ${name}.`),
  ...constants(
    name,
    values.map((value) => ({ name: name + constantName(value), value, ...aboutOf(name, value) })),
  ),
];

const aboutOf = (name: string, value: string): { about?: string } =>
  name === 'ErrorCode' ? { about: faultTexts[value as FaultCode] } : {};

const signs: Readonly<Record<string, string>> = { '+': 'Plus', '-': 'Minus', '=': 'Equals' };

const constantName = (value: string): string => signs[value] ?? goName(value.toLowerCase());

/** The object that has more required members is tried first; the last one is taken when no other fits. */
const choiceLines = ({ name, objects }: Choice): string[] => {
  const last = objects.at(-1)?.name ?? '';
  return [
    ...comment(`${name} is one of ${objects.map((one) => one.name).join(', ')}; the others are nil.`),
    `type ${name} struct {`,
    ...objects.flatMap((one) => [...comment(one.description, '\t'), `\t${one.name} *${one.name}`]),
    '}',
    '',
    ...comment('MarshalJSON writes the one that is not nil.'),
    `func (c ${name}) MarshalJSON() ([]byte, error) {`,
    ...objects
      .slice(0, -1)
      .flatMap((one) => [`\tif c.${one.name} != nil {`, `\t\treturn json.Marshal(c.${one.name})`, '\t}']),
    `\treturn json.Marshal(c.${last})`,
    '}',
    '',
    ...comment('UnmarshalJSON decides by the members that are there.'),
    `func (c *${name}) UnmarshalJSON(text []byte) error {`,
    '\tvar members map[string]json.RawMessage',
    '\tif err := json.Unmarshal(text, &members); err != nil {',
    '\t\treturn err',
    '\t}',
    ...objects
      .slice(0, -1)
      .flatMap((one) => [
        `\tif hasAll(members, ${one.required.map(quoted).join(', ')}) {`,
        `\t\treturn json.Unmarshal(text, &c.${one.name})`,
        '\t}',
      ]),
    `\treturn json.Unmarshal(text, &c.${last})`,
    '}',
    '',
  ];
};

export const typesText = (model: Model, names: GoNames): string =>
  [
    `// ${generatedMark}`,
    '',
    'package orderpass',
    '',
    'import "encoding/json"',
    '',
    ...names.enums.flatMap(enumLines),
    ...model.types.flatMap((named) => {
      if (named.kind === 'object') return objectLines(named, names.inRequests.has(named.name), names);
      return names.enums.some(({ name }) => name === named.name) ? [] : aliasLines(named, names);
    }),
    ...names.choices.flatMap(choiceLines),
    ...(names.choices.length === 0 ? [] : hasAllLines),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');

const hasAllLines = [
  'func hasAll(members map[string]json.RawMessage, names ...string) bool {',
  '\tfor _, name := range names {',
  '\t\tif _, isThere := members[name]; !isThere {',
  '\t\t\treturn false',
  '\t\t}',
  '\t}',
  '\treturn true',
  '}',
];
