/** Which variables the collections have, which answer sets each, and where the examples have its value. */
import { sampleIds as ids } from '../examples/sample-ids.ts';

/** Name → value at first. The samples become those of the demo restaurant, where there is one. */
export const variables: Readonly<Record<string, { value: string; description: string }>> = {
  clientId: { value: ids.client, description: 'Id of the API client' },
  clientSecret: { value: '', description: 'Secret of the API client: put it in here' },
  accessToken: { value: '', description: 'Set by the token request, which comes first' },
  orderUid: { value: ids.newOrder, description: 'Set when an order is inserted' },
  orderToken: { value: ids.newOrderToken, description: 'Set when an order is inserted' },
  customerUid: { value: ids.customer, description: 'Set when a customer is created' },
  endpointUid: { value: ids.endpoint, description: 'Set when an endpoint is created' },
  receiverUrl: { value: ids.receiver, description: 'Address of your receiver of webhooks' },
  deliveryUid: { value: 'dlv_01', description: 'Set by the list of deliveries' },
  redeliveryUid: { value: 'rdl_01', description: 'Set by a redelivery' },
  loyaltyEntryUid: { value: ids.loyaltyEntry, description: 'Set when an entry is created' },
  couponCode: { value: ids.coupon, description: 'Set when a coupon is generated' },
  menuVersion: { value: '1', description: 'Set by an import' },
  categoryUid: { value: ids.category, description: 'A category of your menu' },
  productUid: { value: ids.product, description: 'A product of your menu, as an order names it' },
  sizeUid: { value: ids.size, description: 'An option of this product' },
  sizeValueUid: { value: ids.large, description: 'A value of this option' },
  toppingsUid: { value: ids.toppings, description: 'Another option of this product' },
  toppingsValueUid: { value: ids.mushrooms, description: 'A value of this option' },
};

/** Operation → variable → members of its answer that lead to the value. */
export const setBy: Readonly<Record<string, Readonly<Record<string, readonly (string | number)[]>>>> = {
  'oauth.token': { accessToken: ['access_token'] },
  'order.create': { orderUid: ['order', 'uid'], orderToken: ['order', 'token'] },
  'customer.create': { customerUid: ['customer', 'uid'] },
  'menu.import': { menuVersion: ['import', 'version'] },
  'coupon.generate': { couponCode: ['coupon', 'code'] },
  'loyaltylog.create': { loyaltyEntryUid: ['loyaltylog', 'uid'] },
  'webhook.create': { endpointUid: ['endpoint', 'uid'] },
  'webhook.deliveries': { deliveryUid: ['deliveries', 0, 'uid'] },
  'webhook.redeliver': { redeliveryUid: ['redelivery', 'uid'] },
};

/** One order goes all the way, and the customer that was created is the one to remove. */
const samples: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(variables).map(([name, { value }]) => [value, name])),
  [ids.wine]: 'productUid',
  [ids.confirmedOrder]: 'orderUid',
  [ids.openOrder]: 'orderUid',
  [ids.confirmedOrderToken]: 'orderToken',
  [ids.openOrderToken]: 'orderToken',
  [ids.formerCustomer]: 'customerUid',
};

/** The value of an example with a reference to a variable where it is a sample. */
export const withVariables = (value: unknown, name = ''): unknown => {
  if (Array.isArray(value)) return value.map((one) => withVariables(one));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withVariables(member, key)]));
  if (name === 'client_secret') return '{{clientSecret}}';
  if (name === 'token' && String(value).startsWith('eyJ')) return '{{accessToken}}';
  // An id of the caller is unique for ever, and a collection runs more than once.
  if (name === 'external_id') return 'till-{{$timestamp}}';
  const variable = typeof value === 'string' && value !== '' ? samples[value] : undefined;
  return variable === undefined || variable === 'menuVersion' ? value : `{{${variable}}}`;
};

/** The text of a body. The version is a number, so its variable stands without quotes. */
export const bodyText = (value: unknown): string =>
  JSON.stringify(withVariables(value), undefined, 2).replace('"version": 1', '"version": {{menuVersion}}');
