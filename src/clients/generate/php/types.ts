/** Writes the types of the client for PHP: a final class with readonly properties for each object. */
import type { Model } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import type { Member, NamedType } from '../model/types.ts';
import {
  comment,
  documentedType,
  nativeType,
  objectsOf,
  propertyName,
  quoted,
  readText,
  resolved,
  type Types,
} from './spelling.ts';

type ObjectType = NamedType & { kind: 'object' };

/** An event says which one it is, and has an interface of its own. */
export type Extra = { implements: string; methods: readonly string[] };

/** `nullable`: null is a value; otherwise a property that may be left out is left out when it is null. */
const propertyOf = (member: Member, types: Types): { type: string; fallback: string } => {
  const { nullable } = resolved(member.type, types);
  const native = nativeType(member.type, types);
  if (member.required) return { type: nullable && native !== 'mixed' ? orNull(native) : native, fallback: '' };
  if (nullable) return { type: `${native}|Omitted|null`, fallback: ' = Omitted::Member' };
  return { type: orNull(native), fallback: ' = null' };
};

const orNull = (native: string): string => (native.includes('|') ? `${native}|null` : `?${native}`);

const propertyLines = (member: Member, types: Types): string[] => {
  const { type, fallback } = propertyOf(member, types);
  const documented = documentedType(member.type, types);
  const native = nativeType(member.type, types);
  const isSaidBefore = documented === native || documented === `${native}|null`;
  const orAbsent = member.required || documented.endsWith('|null') ? '' : '|null';
  const tag = isSaidBefore ? '' : `@var ${documented}${orAbsent}${type.includes('Omitted') ? '|Omitted' : ''} `;
  return [
    ...comment(`${tag}${member.description}`, '        '),
    `        public readonly ${type} $${propertyName(member.name)}${fallback},`,
  ];
};

const fromLines = ({ name, members }: ObjectType, sorted: readonly Member[], types: Types): string[] => [
  '    /** @param array<array-key, mixed> $members As they are decoded from JSON */',
  '    public static function from(array $members): self',
  '    {',
  ...(members.length === 0 ? ['        return new self();'] : fromSelf(name, sorted, types)),
  '    }',
];

const fromSelf = (name: string, sorted: readonly Member[], types: Types): string[] => [
  '        return new self(',
  ...sorted.map((member) => `            ${propertyName(member.name)}: ${readMember(name, member, types)},`),
  '        );',
];

const readMember = (owner: string, member: Member, types: Types): string => {
  const value = `$members[${quoted(member.name)}]`;
  const at = { place: `${owner}.${member.name}`, types };
  const isMixed = nativeType(member.type, types) === 'mixed';
  if (member.required) return readText(member.type, isMixed ? `${value} ?? null` : value, at);
  const { nullable } = resolved(member.type, types);
  const read = readText({ ...member.type, nullable: true }, value, at);
  return nullable ? `\\array_key_exists(${quoted(member.name)}, $members) ? (${read}) : Omitted::Member` : read;
};

const sentText = (member: Member, types: Types): string => {
  const property = `$this->${propertyName(member.name)}`;
  const type = resolved(member.type, types);
  if (type.kind === 'map') {
    const cast = `(object) ${property}`;
    if (member.required && !type.nullable) return cast;
    return `\\is_array(${property}) ? ${cast} : ${member.required ? 'null' : `${property} ?? Omitted::Member`}`;
  }
  return member.required || type.nullable ? property : `${property} ?? Omitted::Member`;
};

const alternativesText = ({ alternatives }: ObjectType): string => {
  const sets = alternatives.map((names) => names.map((name) => `\`${propertyName(name)}\``).join(' and '));
  return sets.length === 0 ? '' : `\n\nOne of these is required: ${sets.join(', or ')}.`;
};

const objectLines = (
  type: ObjectType,
  types: Types,
  more: { extra: Extra | undefined; isChosen: boolean },
): string[] => {
  // A parameter without a default stands before those that have one.
  const sorted = type.members.toSorted((a, b) => Number(b.required) - Number(a.required));
  return [
    ...comment(type.description + alternativesText(type), ''),
    `final class ${type.name} implements ${more.extra?.implements ?? '\\JsonSerializable'}`,
    '{',
    ...(sorted.length === 0
      ? []
      : [
          '    public function __construct(',
          ...sorted.flatMap((member) => propertyLines(member, types)),
          '    ) {',
          '    }',
          '',
        ]),
    ...fromLines(type, sorted, types),
    '',
    ...(more.isChosen ? fitsLines(type) : []),
    '    public function jsonSerialize(): object',
    '    {',
    '        return Json::object([',
    ...type.members.map((member) => `            ${quoted(member.name)} => ${sentText(member, types)},`),
    '        ]);',
    '    }',
    ...(more.extra?.methods ?? []),
    '}',
    '',
  ];
};

const fitsLines = ({ members }: ObjectType): string[] => {
  const required = members.filter((member) => member.required).map(({ name }) => quoted(name));
  return [
    '    /**',
    '     * Whether every required member is there.',
    '     *',
    '     * @param array<array-key, mixed> $members',
    '     */',
    '    public static function fits(array $members): bool',
    '    {',
    '        return array_diff([',
    ...required.map((name) => `            ${name},`),
    '        ], array_keys($members)) === [];',
    '    }',
    '',
  ];
};

export const typesText = (model: Model, extras: ReadonlyMap<string, Extra>): string => {
  const all = new Map(model.types.map((named) => [named.name, named]));
  const types = typesOf(all);
  const chosen = new Set(
    model.types.flatMap((named) =>
      named.kind === 'object' ? named.members.flatMap(({ type }) => objectsOf(resolved(type, types), types) ?? []) : [],
    ),
  );
  return [
    '<?php',
    `// ${generatedMark}`,
    '',
    'declare(strict_types=1);',
    '',
    'namespace Orderpass\\Type;',
    '',
    'use Orderpass\\Decimal;',
    'use Orderpass\\Json;',
    'use Orderpass\\Omitted;',
    'use Orderpass\\WebhookEvent;',
    '',
    ...model.types.flatMap((named) =>
      named.kind === 'object'
        ? objectLines(named, types, { extra: extras.get(named.name), isChosen: chosen.has(named.name) })
        : [],
    ),
  ].join('\n');
};

export const typesOf = (all: ReadonlyMap<string, NamedType>): Types => ({
  named: (name) => {
    const found = all.get(name);
    if (found === undefined) throw new Error(`no type is named ${name}`);
    return found;
  },
});
