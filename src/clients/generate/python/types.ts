/** Writes the types of the client for Python: a TypedDict for each object, and the union of all events. */
import type { Model } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import type { Member, NamedType } from '../model/types.ts';
import { docstring, isKeyword, quoted, typeText } from './spelling.ts';

const memberLines = ({ name, type, description }: Member): string[] => [
  `    ${name}: ${typeText(type)}`,
  ...docstring(description, '    '),
];

/** A member whose name is a keyword cannot stand in the body of a class. */
const functionalLines = (name: string, members: readonly Member[], total: boolean): string[] => [
  `${name} = TypedDict(`,
  `    ${quoted(name)},`,
  '    {',
  ...members.map((one) => `        ${quoted(one.name)}: ${quoted(typeText(one.type).replaceAll('"', "'"))},`),
  '    },',
  ...(total ? [] : ['    total=False,']),
  ')',
];

/** Python 3.9 has no optional member beside required ones: the required ones stand in a class of their own. */
const objectLines = (named: NamedType & { kind: 'object' }): string[] => {
  const { name, description, members } = named;
  const required = members.filter((one) => one.required);
  const optional = members.filter((one) => !one.required);
  if (members.some((one) => isKeyword(one.name))) {
    if (required.length > 0 && optional.length > 0) throw new Error(`${name} has a keyword and optional members`);
    return functionalLines(name, members, optional.length === 0);
  }
  const classLines = (head: string, text: string, own: readonly Member[]): string[] => [
    head,
    ...docstring(text === '' ? name : text, '    '),
    ...own.flatMap(memberLines),
  ];
  if (optional.length === 0) return classLines(`class ${name}(TypedDict):`, description, members);
  if (required.length === 0) return classLines(`class ${name}(TypedDict, total=False):`, description, members);
  return [
    ...classLines(`class _${name}Required(TypedDict):`, `Members of ${name} that are always there.`, required),
    '',
    '',
    ...classLines(`class ${name}(_${name}Required, total=False):`, description, optional),
  ];
};

const aliasLines = (named: NamedType & { kind: 'alias' }): string[] => [
  `# ${named.description.replaceAll('\n', ' ')}`,
  `${named.name} = ${typeText(named.type)}`,
];

const literalLines = (name: string, values: readonly string[]): string[] => [
  `${name} = Literal[`,
  ...values.map((value) => `    ${quoted(value)},`),
  ']',
];

/** Aliases are read when the module is loaded, so they follow the types that they name. */
const byUse = (a: NamedType, b: NamedType): number => rank(a) - rank(b);
const rank = (named: NamedType): number => {
  if (named.kind === 'object') return 1;
  return named.type.kind === 'literals' ? 0 : 2;
};

export const typesText = (model: Model): string =>
  [
    `# ${generatedMark}`,
    '"""The objects of the interface, as they are sent and answered."""',
    '',
    'from __future__ import annotations',
    '',
    'from typing import Any, Dict, List, Literal, Optional, TypedDict, Union',
    '',
    '# Version of the interface that these types describe.',
    `INTERFACE_VERSION = ${quoted(model.version)}`,
    '',
    '# What an access token may be allowed to do.',
    ...literalLines(
      'Scope',
      model.scopes.map(({ name }) => name),
    ),
    ...[...model.types]
      .sort(byUse)
      .flatMap((named) => ['', '', ...(named.kind === 'object' ? objectLines(named) : aliasLines(named))]),
    '',
    '',
    '# Every event that is sent; `event` says which one it is.',
    'WebhookEvent = Union[',
    ...model.events.map(({ body }) => `    ${body.name},`),
    ']',
    '',
  ].join('\n');
