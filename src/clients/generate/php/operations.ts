/** Writes the operations of the client for PHP: a class for each group, a method for each operation. */
import type { Group, Model, Operation } from '../model/model.ts';
import { camelCase, pascalCase } from '../model/names.ts';
import { generatedMark } from '../model/text.ts';
import { comment, documentedType, nativeType, quoted, readerText, resolved, type Types } from './spelling.ts';
import { typesOf } from './types.ts';

const by = '    ';

const commentOf = ({ summary, description, refusals }: Operation, more: readonly string[], tag = ''): string[] => {
  const own = refusals.map(({ code, status, meaning }) => `- ${code} (${status}): ${meaning}`);
  const listed = own.length === 0 ? '' : `Refusals of its own:\n${own.join('\n')}`;
  return comment([summary, description, ...more, listed, tag].filter((text) => text !== '').join('\n\n'), by);
};

const signature = (name: string, { request, needsArguments }: Operation, result: string): string[] => [
  `${by}public function ${name}(`,
  `${by}${by}${request.name} $request${needsArguments ? '' : ` = new ${request.name}()`},`,
  `${by}${by}?CallOptions $options = null,`,
  `${by}): ${result} {`,
];

const callText = ({ method, path }: Operation): string =>
  `$this->transport->call(${quoted(method)}, ${quoted(path)}, $request, $options)`;

const singleLines = (operation: Operation, name: string, types: Types, more: readonly string[]): string[] => {
  const { answer, result } = operation;
  if (result.kind === 'nothing')
    return [
      ...commentOf(operation, more),
      ...signature(name, operation, 'void'),
      `${by}${by}${callText(operation)};`,
      `${by}}`,
      '',
    ];
  const type = result.kind === 'member' ? result.member.type : undefined;
  const native = type === undefined ? answer.name : nativeType(type, types);
  const tag = native === 'array' && type !== undefined ? `@return ${documentedType(type, types)}` : '';
  const member = result.kind === 'member' ? `->${camelCase(result.member.name)}` : '';
  const isNullable = type !== undefined && resolved(type, types).nullable;
  return [
    ...commentOf(operation, more, tag),
    ...signature(name, operation, isNullable ? `?${native}` : native),
    `${by}${by}return ${answer.name}::from(${callText(operation)})${member};`,
    `${by}}`,
    '',
  ];
};

const methodLines = (operation: Operation, types: Types): string[] => {
  const { list, name, path, answer } = operation;
  if (list === undefined) return singleLines(operation, name, types, []);
  const item = documentedType(list.item, types);
  return [
    ...commentOf(
      operation,
      ['Iterates over the items of all pages and requests each page when it is needed.'],
      `@return \\Generator<int, ${item}>`,
    ),
    ...signature(name, operation, '\\Generator'),
    `${by}${by}$read = ${readerText(list.item, { place: `${answer.name}.${list.member}`, types })};`,
    `${by}${by}return $this->transport->items(${quoted(path)}, $request, $options, ${quoted(list.member)}, $read);`,
    `${by}}`,
    '',
    ...singleLines(operation, `${name}Page`, types, ['One page; `nextCursor` continues it.']),
  ];
};

const groupLines = (group: Group, types: Types): string[] => [
  ...comment(group.description, ''),
  `final class ${className(group)}`,
  '{',
  `${by}public function __construct(private readonly Transport $transport)`,
  `${by}{`,
  `${by}}`,
  '',
  ...group.operations.flatMap((operation) => methodLines(operation, types)).slice(0, -1),
  '}',
  '',
];

const className = ({ name }: Group): string => `${pascalCase(name)}Operations`;

const allLines = (model: Model): string[] => [
  ...comment('Every operation, by what it belongs to.', ''),
  'abstract class Operations',
  '{',
  ...comment('Version of the interface that this package was made for.', by),
  `${by}public const INTERFACE_VERSION = ${quoted(model.version)};`,
  '',
  `${by}public const USER_AGENT = ${quoted(`orderpass-php/${model.version}`)};`,
  '',
  ...comment('Seconds of an attempt where the usual time is too short, by path.', by),
  `${by}public const LONG_TIMES = [`,
  ...model.groups.flatMap(({ operations }) =>
    operations.flatMap(({ path, timeout }) =>
      timeout === undefined ? [] : [`${by}${by}${quoted(path)} => ${timeout}.0,`],
    ),
  ),
  `${by}];`,
  ...model.groups.flatMap((group) => [
    '',
    ...comment(group.description, by),
    `${by}public readonly ${className(group)} $${group.name};`,
  ]),
  '',
  `${by}protected function __construct(Transport $transport)`,
  `${by}{`,
  ...model.groups.map((group) => `${by}${by}$this->${group.name} = new ${className(group)}($transport);`),
  `${by}}`,
  '}',
  '',
];

export const operationsText = (model: Model): string => {
  const types = typesOf(new Map(model.types.map((named) => [named.name, named])));
  const classes = [...allLines(model), ...model.groups.flatMap((group) => groupLines(group, types))].join('\n');
  const words = new Set(classes.split(/\W+/));
  return [
    '<?php',
    `// ${generatedMark}`,
    '',
    'declare(strict_types=1);',
    '',
    'namespace Orderpass;',
    '',
    ...model.types
      .filter(({ kind, name }) => kind === 'object' && words.has(name))
      .map(({ name }) => `use Orderpass\\Type\\${name};`),
    '',
    classes,
  ].join('\n');
};
