/** Writes the events of the client for PHP: an interface that each event implements, and the choice by its name. */
import type { Model } from '../model/model.ts';
import { generatedMark } from '../model/text.ts';
import { comment, quoted } from './spelling.ts';
import type { Extra } from './types.ts';

const accessors = [
  { name: 'name', type: 'string', about: 'Its name, such as `order.new`.', property: 'event' },
  { name: 'id', type: 'string', about: 'The same on every delivery of the event.', property: 'id' },
  { name: 'restuid', type: 'string', about: 'The restaurant.', property: 'restuid' },
  { name: 'seq', type: 'int', about: 'Rises with every change of the entity.', property: 'seq' },
  {
    name: 'isTest',
    type: 'bool',
    about: 'Whether it is an example that was sent from the panel: its content is made up.',
    property: 'test',
  },
] as const;

type Accessor = (typeof accessors)[number];

const ownValue = ({ type, property }: Accessor): string =>
  type === 'bool' ? `$this->${property} === true` : `$this->${property}`;

const unknownValue = ({ type, property }: Accessor): string => {
  const member = `$this->members[${quoted(property)}] ?? null`;
  if (type === 'bool') return `(${member}) === true`;
  return `Json::${type === 'int' ? 'integer' : 'string'}(${member}, 'event.${property}')`;
};

/** By the name of its class. */
export const eventExtras = ({ events }: Model): ReadonlyMap<string, Extra> =>
  new Map(
    events.map(({ body }) => [
      body.name,
      {
        implements: 'WebhookEvent',
        methods: accessors.flatMap((accessor) => [
          '',
          `    public function ${accessor.name}(): ${accessor.type}`,
          '    {',
          `        return ${ownValue(accessor)};`,
          '    }',
        ]),
      },
    ]),
  );

export const eventsText = ({ events }: Model): string =>
  [
    '<?php',
    `// ${generatedMark}`,
    '',
    'declare(strict_types=1);',
    '',
    'namespace Orderpass;',
    '',
    ...events.map(({ body }) => `use Orderpass\\Type\\${body.name};`).sort(),
    '',
    ...comment('One of the classes below, or an UnknownEvent of a later version. `instanceof` tells which.', ''),
    'interface WebhookEvent extends \\JsonSerializable',
    '{',
    ...accessors
      .flatMap(({ name, type, about }) => [...comment(about, '    '), `    public function ${name}(): ${type};`, ''])
      .slice(0, -1),
    '}',
    '',
    ...comment('An event that this version of the package does not know.', ''),
    'final class UnknownEvent implements WebhookEvent',
    '{',
    '    /** @param array<array-key, mixed> $members Of the body */',
    '    public function __construct(public readonly array $members)',
    '    {',
    '    }',
    ...accessors.flatMap((accessor) => [
      '',
      `    public function ${accessor.name}(): ${accessor.type}`,
      '    {',
      `        return ${unknownValue(accessor)};`,
      '    }',
    ]),
    '',
    '    public function jsonSerialize(): object',
    '    {',
    '        return (object) $this->members;',
    '    }',
    '}',
    '',
    ...comment('The class of each event, by its name.', ''),
    'final class Events',
    '{',
    '    /** @param array<array-key, mixed> $members Of the body of a delivery */',
    '    public static function read(array $members): WebhookEvent',
    '    {',
    "        return match ($members['event'] ?? null) {",
    ...events.flatMap(({ event, body, summary }) => [
      ...comment(summary, '            '),
      `            ${quoted(event)} => ${body.name}::from($members),`,
    ]),
    '            default => new UnknownEvent($members),',
    '        };',
    '    }',
    '}',
    '',
  ].join('\n');
