/** Tags of the document: what an operation belongs to, by the first segment of its path below /api. */
type Tag = { name: string; description: string };

const orders = {
  name: 'Orders',
  description: 'Orders of a restaurant: list them, read one, insert one, and move it from `new` to its end.',
};
const customers = {
  name: 'Customers',
  description: 'Customers of a restaurant with their points and their statistics.',
};
const webhooks = {
  name: 'Webhooks',
  description: 'Endpoints that receive events, their deliveries, and sending them again.',
};

/** First segment below /api → tag, in the sequence of the document. */
const tags: Readonly<Record<string, Tag>> = {
  oauth: { name: 'OAuth', description: 'Access tokens: issue, revoke and introspect them; end what has leaked.' },
  order: orders,
  orders,
  menu: { name: 'Menus', description: 'The menu of a restaurant, its versions, and imports that change it.' },
  customer: customers,
  customers,
  customerstats: customers,
  loyaltylog: { name: 'Loyalty', description: 'The log of loyalty points, whose sum is the balance of a customer.' },
  coupon: { name: 'Coupons', description: 'Codes that give a discount on an order.' },
  account: { name: 'Account', description: 'Restaurants and locations that the credential may use.' },
  webhook: webhooks,
  webhooks,
  events: { name: 'Events', description: 'Recorded events, to catch up without webhooks.' },
  sandbox: { name: 'Sandbox', description: 'The clock of a sandbox: read it, and move it ahead.' },
  whoami: { name: 'Who am I', description: 'What the credential may do, and why a request of it was refused.' },
};

export const documentTag: Tag = {
  name: 'Documents',
  description: 'Public documents that need no credential: keys, metadata and this document.',
};

export const receivedTag: Tag = {
  name: 'Events that are sent',
  description: 'What a receiver of webhooks gets, and what it answers.',
};

/** An operator's own services have tags of their own names. */
export const tagOf = (path: string): Tag => {
  const segment = path.split('/')[2] ?? 'api';
  return tags[segment] ?? { name: segment, description: `Operations below /api/${segment}.` };
};

/** The tags of a document with these paths, in a fixed sequence; those of an operator's own services come after. */
export const tagsOf = (paths: readonly string[]): Tag[] => {
  const used = new Map([...paths, '/api/oauth'].map((path) => [tagOf(path).name, tagOf(path)]));
  const known = new Set(Object.values(tags).filter(({ name }) => used.has(name)));
  return [...new Set([...known, ...used.values()]), documentTag, receivedTag];
};
