/**
 * The ids of the examples. Each stands for one thing of the demo restaurant. Where the program has that restaurant, its
 * document has the real ids in their place, so a request of the document works there as it is pasted. Ids are random in
 * every installation: a fixed one would be the same key of two different things.
 */
export const sampleIds = {
  restaurant: 'rst_01',
  location: 'loc_01',
  client: 'opc_7Q',
  category: 'cat_01',
  wine: 'prd_02',
  product: 'prd_01',
  size: 'opt_01',
  large: 'opv_01',
  toppings: 'opt_02',
  mushrooms: 'opv_02',
  customer: 'cus_01',
  formerCustomer: 'cus_02',
  loyaltyEntry: 'loy_01',
  coupon: 'K7XQ2M9RTW',
  newOrder: 'ord_01',
  newOrderToken: 'tok_01',
  confirmedOrder: 'ord_02',
  confirmedOrderToken: 'tok_02',
  openOrder: 'ord_03',
  openOrderToken: 'tok_03',
  endpoint: 'whe_01',
  /** The receiver of the demo: an address must resolve, and this one always does. */
  receiver: 'https://till.example/hook',
} as const;

/** The real ids, by the names of `sampleIds`. */
export type Samples = { readonly [Name in keyof typeof sampleIds]: string };

/** A JSON value with the real ids in place of those of the examples, which are whole strings in it. */
export const withSamples = <T>(value: T, samples: Samples | undefined): T => {
  if (samples === undefined) return value;
  const real = new Map(
    Object.entries(sampleIds).map(([name, id]): [unknown, string] => [id, samples[name as keyof Samples]]),
  );
  const text = JSON.stringify(value, (_name, member: unknown) => real.get(member) ?? member);
  return JSON.parse(text) as T;
};
