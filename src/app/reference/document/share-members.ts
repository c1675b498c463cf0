/**
 * Writes members that several objects have once: as an object that the others extend with `allOf`. The served document is
 * shorter for it; the guide and the clients are made from the document in which every object has all its members.
 */
import type { Json } from './json-schema.ts';
import { mapOf } from './name-schemas.ts';

type Shared = {
  description: string;
  /** An object that has the members; others extend it where theirs are the same. */
  asIn: string;
  members: readonly string[] | { except: readonly string[] };
};

/** Objects that exist for others to extend. */
const shared: Readonly<Record<string, Shared>> = {
  EventMembers: {
    description: 'Members that every event has',
    asIn: 'OrderNewEvent',
    members: ['id', 'created', 'restuid', 'seq', 'previous_seq', 'truncated', 'test'],
  },
  OrderMembers: {
    description: 'Members of an order besides its lines',
    asIn: 'Order',
    members: { except: ['details'] },
  },
  ListMembers: {
    description: 'Members that every list with pages has',
    asIn: 'OrdersListAnswer',
    members: ['page', 'pagesize', 'total_count', 'more', 'next_cursor'],
  },
  ImportMembers: {
    description: 'Members that an import of a menu has in the report and in the list',
    asIn: 'ImportReport',
    members: [
      ...[
        'version',
        'base_version',
        'plan_id',
        'plan_expires_iso',
        'state',
        'percent',
        'kind',
        'pos_uid',
        'update_mode',
      ],
      ...['client_id', 'created', 'created_iso', 'counts', 'removal_percent'],
    ],
  },
  ClientAuthentication: {
    description: 'How a client authenticates in a form, instead of HTTP Basic',
    asIn: 'TokenRequest',
    members: ['client_id', 'client_secret', 'client_assertion_type', 'client_assertion'],
  },
};

/** Things of the interface that another one extends. They have no rules beside their members, which the other would inherit. */
const extended: readonly string[] = ['Delivery', 'Countdown'];

/** `document`: as `buildOpenApi` makes it. */
export const withSharedMembers = (document: Json): Json => {
  const { components, ...others } = document as { components: Json };
  const schemas = components.schemas as Record<string, Json>;
  const bases = [
    ...Object.entries(shared).flatMap(([name, one]) => baseOf(name, one, schemas)),
    ...extended.flatMap((name): [string, Json][] => (schemas[name] === undefined ? [] : [[name, schemas[name]]])),
  ];
  const named = mapOf({ ...schemas, ...Object.fromEntries(bases) }, (schema, name) => {
    const base = bases.find(([other, one]) => other !== name && hasAllOf(schema, one));
    return base === undefined ? schema : without(schema, base);
  });
  return {
    ...others,
    components: {
      ...components,
      schemas: Object.fromEntries(Object.entries(named).sort(([a], [b]) => (a < b ? -1 : 1))),
    },
  };
};

const propertiesOf = (schema: Json): Record<string, Json> => (schema.properties ?? {}) as Record<string, Json>;
const requiredOf = (schema: Json): readonly string[] => (schema.required ?? []) as string[];

/** Empty where no object is as described, or where the name is taken by the routes of an operator. */
const baseOf = (
  name: string,
  { description, asIn, members: chosen }: Shared,
  schemas: Readonly<Record<string, Json>>,
): [string, Json][] => {
  const model = schemas[asIn] ?? {};
  const members =
    'except' in chosen ? Object.keys(propertiesOf(model)).filter((one) => !chosen.except.includes(one)) : chosen;
  if (schemas[name] !== undefined || members.length === 0 || !members.every((member) => member in propertiesOf(model)))
    return [];
  const properties = Object.fromEntries(members.map((member) => [member, propertiesOf(model)[member]]));
  return [
    [
      name,
      { type: 'object', description, ...listed(requiredOf(model).filter((one) => members.includes(one))), properties },
    ],
  ];
};

const listed = (required: readonly string[]): Json => (required.length === 0 ? {} : { required });

const hasAllOf = (schema: Json, base: Json): boolean =>
  Object.entries(propertiesOf(base)).every(
    ([name, one]) =>
      JSON.stringify(propertiesOf(schema)[name]) === JSON.stringify(one) &&
      requiredOf(schema).includes(name) === requiredOf(base).includes(name),
  );

const without = ({ properties, required, ...rest }: Json, [name, base]: [string, Json]): Json => {
  const isOwn = (member: string): boolean => !(member in propertiesOf(base));
  return {
    ...rest,
    allOf: [{ $ref: `#/components/schemas/${name}` }],
    ...listed(((required ?? []) as string[]).filter(isOwn)),
    properties: Object.fromEntries(Object.entries(properties as Json).filter(([member]) => isOwn(member))),
  };
};
