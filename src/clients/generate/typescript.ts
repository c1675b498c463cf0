/** Writes the types and the operations of the client for TypeScript. */
import type { Json } from './model/document.ts';
import type { Group, Model, Operation } from './model/model.ts';
import { pascalCase } from './model/names.ts';
import { type GeneratedFile, generatedMark, indent, wrap } from './model/text.ts';
import type { Member, NamedType, Type } from './model/types.ts';

const quoted = (text: string): string => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

const literal = (value: string | number | boolean): string =>
  typeof value === 'string' ? quoted(value) : String(value);

const widthMax = 112;

const comment = (text: string): string[] => {
  const lines = wrap(text.replaceAll('*/', '*\\/'), widthMax);
  const [only = ''] = lines;
  if (lines.length === 1) return only === '' ? [] : [`/** ${only} */`];
  return ['/**', ...lines.map((line) => (line === '' ? ' *' : ` * ${line}`)), ' */'];
};

const typeText = (type: Type): string => {
  const text = shapeText(type);
  return type.nullable ? `${text} | null` : text;
};

const shapeText = (type: Type): string => {
  switch (type.kind) {
    case 'string':
    case 'boolean':
      return type.kind;
    case 'integer':
    case 'number':
      return 'number';
    case 'any':
      return 'unknown';
    case 'literals':
      return type.values.map(literal).join(' | ');
    case 'list':
      return `Array<${typeText(type.items)}>`;
    case 'map':
      return `Record<string, ${typeText(type.values)}>`;
    case 'named':
      return type.name;
    case 'union':
      return type.types.map(typeText).join(' | ');
  }
};

const key = (name: string): string => (/^[A-Za-z_]\w*$/.test(name) ? name : quoted(name));

const memberLines = ({ name, type, required, description }: Member): string[] => [
  ...comment(description),
  required ? `${key(name)}: ${typeText(type)};` : `${key(name)}?: ${typeText(type)} | undefined;`,
];

/** One of the sets must be given: the members of a set, required. */
const alternativeText = (members: readonly Member[], names: readonly string[]): string => {
  const given = members.filter(({ name }) => names.includes(name));
  return `{ ${given.map(({ name, type }) => `${key(name)}: ${typeText(type)}`).join('; ')} }`;
};

const namedLines = (named: NamedType): string[] => {
  const head = comment(named.description);
  if (named.kind === 'alias') {
    const text = typeText(named.type);
    const lines = text.length > widthMax - named.name.length ? `\n  | ${text.split(' | ').join('\n  | ')}` : ` ${text}`;
    return [...head, `export type ${named.name} =${lines};`];
  }
  const { members, alternatives } = named;
  const body = ['{', ...indent(members.flatMap(memberLines), '  '), '}'];
  const choice = alternatives.map((names) => alternativeText(members, names)).join(' | ');
  return [...head, `export type ${named.name} = ${body.join('\n')}${choice === '' ? '' : ` & (${choice})`};`];
};

const typesText = (model: Model): string =>
  [
    `// ${generatedMark}`,
    '',
    '/** Version of the interface that these types describe. */',
    `export const interfaceVersion = ${quoted(model.version)};`,
    '',
    '/** What an access token may be allowed to do. */',
    `export type Scope =${model.scopes.map(({ name }) => `\n  | ${quoted(name)}`).join('')};`,
    '',
    ...model.types.flatMap((named) => [...namedLines(named), '']),
    '/** Every event that is sent; `event` says which one it is. */',
    `export type WebhookEvent =${model.events.map(({ body }) => `\n  | ${body.name}`).join('')};`,
    '',
  ].join('\n');

const operationComment = (operation: Operation, name: string, more = ''): string[] => {
  const { group, summary, description, refusals, example, list, request } = operation;
  const own = refusals.map(({ code, status, meaning }) => `- \`${code}\` (${status}): ${meaning}`);
  const call = `client.${group}.${name}(${valueText(example)})`;
  const isUsable = list !== undefined || request.members.length === 0 || Object.keys(example).length > 0;
  const isIterator = list !== undefined && name === operation.name;
  return comment(
    [
      summary,
      description,
      more,
      own.length === 0 ? '' : ['Refusals of its own:', ...own].join('\n'),
      isUsable
        ? ['@example', isIterator ? `for await (const one of ${call}) console.log(one);` : `await ${call};`].join('\n')
        : '',
    ]
      .filter((text) => text !== '')
      .join('\n\n'),
  );
};

/** JSON as a person writes it in TypeScript. Empty for no arguments. */
const valueText = (example: Json): string => {
  if (Object.keys(example).length === 0) return '';
  const text = JSON.stringify(example, null, 2).replaceAll(/"([a-z_]+)":/g, '$1:');
  return text.length > widthMax
    ? text
    : text
        .split('\n')
        .map((line) => line.trim())
        .join(' ');
};

const argumentsText = ({ request, needsArguments }: Operation): string =>
  `request: ${request.name}${needsArguments ? '' : ' = {}'}, options?: CallOptions`;

const describedText = ({ id, method, path, pathParameters, timeout }: Operation): string => {
  const places = pathParameters.length === 0 ? '' : `, inPath: [${pathParameters.map(quoted).join(', ')}]`;
  const time = timeout === undefined ? '' : `, timeoutMs: ${timeout * 1000}`;
  return `{ id: ${quoted(id)}, method: ${quoted(method)}, path: ${quoted(path)}${places}${time} }`;
};

const callLines = (operation: Operation, name: string): string[] => {
  const { answer, result } = operation;
  const call = [
    `this.#transport.call<${answer.name}>(`,
    ...indent([`${describedText(operation)},`, 'request,', 'options,'], '    '),
    '  )',
  ].join('\n');
  if (result.kind === 'member')
    return [
      `async ${name}(${argumentsText(operation)}): Promise<${typeText(result.member.type)}> {`,
      `  const answer = await ${call};`,
      `  return answer.${result.member.name};`,
      '}',
    ];
  if (result.kind === 'nothing')
    return [`async ${name}(${argumentsText(operation)}): Promise<void> {`, `  await ${call};`, '}'];
  return [`${name}(${argumentsText(operation)}): Promise<${answer.name}> {`, `  return ${call};`, '}'];
};

const methodLines = (operation: Operation): string[] => {
  const { list, name, answer } = operation;
  if (list === undefined) return [...operationComment(operation, name), ...callLines(operation, name), ''];
  const page = `${name}Page`;
  return [
    ...operationComment(
      operation,
      name,
      'Iterates over the items of all pages and requests each page when it is needed.',
    ),
    `${name}(${argumentsText(operation)}): AsyncGenerator<${typeText(list.item)}, void, undefined> {`,
    '  return itemsOf(',
    `    (next) => this.${page}({ ...request, ...next }, options),`,
    `    (page: ${answer.name}) => page.${list.member},`,
    '  );',
    '}',
    '',
    ...operationComment(operation, page, 'One page; `next_cursor` continues it.'),
    ...callLines(operation, page),
    '',
  ];
};

const groupLines = ({ name, description, operations }: Group): string[] => [
  ...comment(description),
  `export class ${pascalCase(name)} {`,
  '  readonly #transport: Transport;',
  '',
  '  constructor(transport: Transport) {',
  '    this.#transport = transport;',
  '  }',
  '',
  ...indent(operations.flatMap(methodLines).slice(0, -1).join('\n').split('\n'), '  '),
  '}',
  '',
];

/** Names of types that the operations mention, for the import. */
const mentionedIn = (text: string, { types }: Model): string[] => {
  const words = new Set(text.split(/\W+/));
  return types.map(({ name }) => name).filter((name) => words.has(name));
};

const operationsText = (model: Model): string => {
  const classes = [
    ...model.groups.flatMap(groupLines),
    '/** Every operation, by what it belongs to. */',
    'export class Operations {',
    ...model.groups.flatMap(({ name, description }) =>
      indent([...comment(description), `readonly ${name}: ${pascalCase(name)};`], '  '),
    ),
    '',
    '  constructor(transport: Transport) {',
    ...model.groups.map(({ name }) => `    this.${name} = new ${pascalCase(name)}(transport);`),
    '  }',
    '}',
    '',
  ].join('\n');
  const [transport, pages, types] = ['./transport.ts', './pages.ts', './types.ts'].map(quoted);
  return [
    `// ${generatedMark}`,
    `import { itemsOf } from ${pages};`,
    `import type { CallOptions, Transport } from ${transport};`,
    `import type {\n${mentionedIn(classes, model)
      .map((name) => `  ${name},`)
      .join('\n')}\n} from ${types};`,
    '',
    classes,
  ].join('\n');
};

export const typescriptFiles = (model: Model): GeneratedFile[] => [
  { path: 'typescript/src/types.ts', text: typesText(model) },
  { path: 'typescript/src/operations.ts', text: operationsText(model) },
];
