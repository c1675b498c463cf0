/** Writes the operations of the client for Go: a service for each group, a method for each operation. */
import type { Group, Model, Operation } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import type { GoNames } from './read-names.ts';
import { answerType, comment, goName, quoted } from './spelling.ts';

const serviceName = (group: Group): string => `${goName(group.name)}Service`;

const commentOf = (name: string, { summary, description, refusals }: Operation, more: string): string[] => {
  const own = refusals.map(({ code, status, meaning }) => `  - ${code} (${status}): ${meaning}`);
  const parts = [
    `${name}: ${summary}`,
    description,
    more,
    own.length === 0 ? '' : `Refusals of its own:\n${own.join('\n')}`,
  ];
  return comment(parts.filter((text) => text !== '').join('\n\n'));
};

const signature = (group: Group, name: string, { request }: Operation, result: string): string[] => [
  `func (s *${serviceName(group)}) ${name}(`,
  '\tctx context.Context,',
  `\trequest ${request.name},`,
  '\toptions ...CallOption,',
  `) ${result} {`,
];

const callText = ({ answer, method, path }: Operation): string =>
  `call[${answer.name}](ctx, s.client, ${quoted(method)}, ${quoted(path)}, request, options)`;

const singleLines = (
  group: Group,
  operation: Operation,
  at: { name: string; more: string; names: GoNames },
): string[] => {
  const { answer, result } = operation;
  const head = commentOf(at.name, operation, at.more);
  if (result.kind === 'answer')
    return [
      ...head,
      ...signature(group, at.name, operation, `(*${answer.name}, error)`),
      `\treturn ${callText(operation)}`,
      '}',
      '',
    ];
  if (result.kind === 'nothing')
    return [
      ...head,
      ...signature(group, at.name, operation, 'error'),
      `\t_, err := ${callText(operation)}`,
      '\treturn err',
      '}',
      '',
    ];
  const type = answerType(result.member.type, at.names);
  const isValue = /^(\[\]|map\[|\*)/.test(type);
  return [
    ...head,
    ...signature(group, at.name, operation, `(${isValue ? type : `*${type}`}, error)`),
    `\tanswer, err := ${callText(operation)}`,
    '\tif err != nil {',
    '\t\treturn nil, err',
    '\t}',
    `\treturn ${isValue ? '' : '&'}answer.${goName(result.member.name)}, nil`,
    '}',
    '',
  ];
};

/** A cursor continues the list, so neither a page number nor `after` stands beside it. */
const continuedLines = ({ request }: Operation): string[] =>
  request.members.flatMap(({ name, type }) => {
    if (name === 'cursor') return ['\t\t\tnext.Cursor = cursor'];
    if (name === 'page') return ['\t\t\tnext.Page = nil'];
    return name === 'after' ? [`\t\t\tnext.After = ${type.kind === 'string' ? '""' : 'nil'}`] : [];
  });

const listLines = (group: Group, operation: Operation, names: GoNames): string[] => {
  const { list, answer } = operation;
  if (list === undefined) return [];
  const name = goName(operation.name);
  const item = answerType(list.item, names);
  const cursor = answer.members.find((member) => member.name === 'next_cursor');
  return [
    ...commentOf(name, operation, 'It iterates over the items of all pages and requests each page when it is needed.'),
    ...signature(group, name, operation, `iter.Seq2[${item}, error]`),
    `\treturn itemsOf(func(cursor string) (page[${item}], error) {`,
    '\t\tnext := request',
    '\t\tif cursor != "" {',
    ...continuedLines(operation),
    '\t\t}',
    `\t\tgot, err := s.${name}Page(ctx, next, options...)`,
    '\t\tif err != nil {',
    `\t\t\treturn page[${item}]{}, err`,
    '\t\t}',
    `\t\tread := page[${item}]{items: got.${goName(list.member)}, more: got.More}`,
    ...(cursor?.type.nullable === false
      ? ['\t\tread.cursor = got.NextCursor']
      : ['\t\tif got.NextCursor != nil {', '\t\t\tread.cursor = *got.NextCursor', '\t\t}']),
    '\t\treturn read, nil',
    '\t})',
    '}',
    '',
  ];
};

const operationLines = (group: Group, operation: Operation, names: GoNames): string[] => {
  const name = goName(operation.name);
  if (operation.list === undefined) return singleLines(group, operation, { name, more: '', names });
  const more = 'One page; its NextCursor continues it.';
  return [
    ...listLines(group, operation, names),
    ...singleLines(group, operation, { name: `${name}Page`, more, names }),
  ];
};

export const operationsText = (model: Model, names: GoNames): string =>
  [
    `// ${generatedMark}`,
    '',
    'package orderpass',
    '',
    'import (',
    '\t"context"',
    '\t"iter"',
    ')',
    '',
    ...comment('operations are those of the interface, by what they belong to.'),
    'type operations struct {',
    ...model.groups.flatMap((group) => [
      ...comment(group.description, '\t'),
      `\t${goName(group.name)} *${serviceName(group)}`,
    ]),
    '}',
    '',
    'func operationsOf(c *Client) (o operations) {',
    ...model.groups.map((group) => `\to.${goName(group.name)} = &${serviceName(group)}{c}`),
    '\treturn o',
    '}',
    '',
    ...model.groups.flatMap((group) => [
      ...comment(`${serviceName(group)}: ${group.description}`),
      `type ${serviceName(group)} struct{ client *Client }`,
      '',
      ...group.operations.flatMap((operation) => operationLines(group, operation, names)),
    ]),
  ]
    .join('\n')
    .trimEnd()
    .concat('\n');
