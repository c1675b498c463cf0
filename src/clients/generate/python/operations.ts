/** Writes the operations of the client for Python, once for threads and once for asyncio. */
import type { Group, Model, Operation } from '../model/model.ts';
import { pascalCase, snakeCase } from '../model/names.ts';
import { generatedMark } from '../model/text.ts';
import type { Member } from '../model/types.ts';
import { argumentName, docstring, quoted, typeText } from './spelling.ts';

export type Mode = 'sync' | 'async';

const by = '        ';

const argumentLine = ({ name, type, required }: Member): string =>
  required
    ? `${by}${argumentName(name)}: ${typeText(type)},`
    : `${by}${argumentName(name)}: Union[${typeText(type)}, Omitted] = OMIT,`;

const requestLines = (members: readonly Member[]): string[] => [
  `${by}request: Dict[str, Any] = {`,
  ...members.map(({ name }) => `${by}    ${quoted(name)}: ${argumentName(name)},`),
  `${by}}`,
];

const resultText = ({ result, answer }: Operation): string => {
  if (result.kind === 'nothing') return 'None';
  return result.kind === 'member' ? typeText(result.member.type) : answer.name;
};

const documentation = ({ summary, description, request, refusals }: Operation, more: string): string[] => {
  const members = request.members.map(
    ({ name, description: text }) => `${argumentName(name)}: ${text.replaceAll('\n\n', '. ')}`,
  );
  const own = refusals.map(({ code, status, meaning }) => `- ${code} (${status}): ${meaning}`);
  const parts = [
    summary,
    description,
    more,
    members.join('\n'),
    own.length === 0 ? '' : ['Refusals of its own:', ...own].join('\n'),
  ].filter((text) => text !== '');
  return docstring(parts.join('\n\n'), by);
};

const signature = (head: string, operation: Operation, result: string): string[] => [
  `    ${head}(`,
  `${by}self,`,
  `${by}*,`,
  ...operation.request.members.map(argumentLine),
  `${by}options: Optional[CallOptions] = None,`,
  `    ) -> ${result}:`,
];

const describedText = ({ id, method, path, pathParameters, timeout }: Operation): string => {
  const places = pathParameters.length === 0 ? '' : `, (${pathParameters.map((name) => `${quoted(name)},`).join(' ')})`;
  return `Operation(${quoted(id)}, ${quoted(method)}, ${quoted(path)}${places}${timeout === undefined ? '' : `, timeout=${timeout}`})`;
};

const callLines = (operation: Operation, mode: Mode): string[] => {
  const { result, answer } = operation;
  const call = `${mode === 'async' ? 'await ' : ''}self._transport.call(${describedText(operation)}, request, options)`;
  if (result.kind === 'nothing') return [`${by}${call}`];
  const value = result.kind === 'member' ? `answer[${quoted(result.member.name)}]` : 'answer';
  return [
    `${by}answer = ${call}`,
    `${by}return cast(${castText(result.kind === 'answer' ? answer.name : resultText(operation))}, ${value})`,
  ];
};

const castText = (type: string): string => `"${type.replaceAll('"', "'")}"`;

const methodLines = (operation: Operation, mode: Mode): string[] => {
  const name = snakeCase(operation.name);
  const define = mode === 'async' ? 'async def' : 'def';
  const { members } = operation.request;
  const single = (called: string, more: string): string[] => [
    ...signature(`${define} ${called}`, operation, resultText(operation)),
    ...documentation(operation, more),
    ...requestLines(members),
    ...callLines(operation, mode),
    '',
  ];
  const { list } = operation;
  if (list === undefined) return single(name, '');
  const item = typeText(list.item);
  const iterator = mode === 'async' ? `AsyncIterator[${item}]` : `Iterator[${item}]`;
  return [
    ...signature(`def ${name}`, operation, iterator),
    ...documentation(operation, 'Iterates over the items of all pages and requests each page when it is needed.'),
    ...requestLines(members),
    `${by}items = self._transport.items(${describedText(operation)}, request, ${quoted(list.member)}, options)`,
    `${by}return cast(${castText(iterator)}, items)`,
    '',
    ...single(`${name}_page`, 'One page; `next_cursor` continues it.'),
  ];
};

const prefix = (mode: Mode): string => (mode === 'async' ? 'Async' : '');

const groupLines = ({ name, description, operations }: Group, mode: Mode): string[] => [
  `class ${prefix(mode)}${pascalCase(name)}:`,
  ...docstring(description, '    '),
  '',
  `    def __init__(self, transport: ${prefix(mode)}Transport) -> None:`,
  `${by}self._transport = transport`,
  '',
  ...operations.flatMap((one) => methodLines(one, mode)),
  '',
];

export const operationsText = (model: Model, mode: Mode): string => {
  const body = [
    ...model.groups.flatMap((group) => groupLines(group, mode)),
    `class ${prefix(mode)}Operations:`,
    '    """Every operation, by what it belongs to."""',
    '',
    `    def __init__(self, transport: ${prefix(mode)}Transport) -> None:`,
    ...model.groups.flatMap(({ name, description }) => [
      `${by}self.${snakeCase(name)} = ${prefix(mode)}${pascalCase(name)}(transport)`,
      ...docstring(description, by),
    ]),
    '',
  ].join('\n');
  const words = new Set(body.split(/\W+/));
  const typing = ['Any', 'AsyncIterator', 'Dict', 'Iterator', 'List', 'Literal', 'Optional', 'Union', 'cast'];
  return [
    `# ${generatedMark}`,
    '"""The operations of the interface, by what they belong to."""',
    '',
    'from __future__ import annotations',
    '',
    `from typing import ${typing.filter((name) => words.has(name)).join(', ')}`,
    '',
    `from .${mode === 'async' ? '_asynchronous' : '_synchronous'} import ${prefix(mode)}Transport`,
    'from ._request import OMIT, CallOptions, Omitted, Operation',
    'from .types import (',
    ...model.types.filter(({ name }) => words.has(name)).map(({ name }) => `    ${name},`),
    ')',
    '',
    '',
    body,
  ].join('\n');
};
