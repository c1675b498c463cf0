/** Parts of the pages about orders: states, money, and the name of a customer. */
import { type Html, type HtmlValue, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import type { OrderStatus, PanelOrder } from '../ports/ordering.ts';
import { badge, type Tone } from '../view/badge.ts';

const tones: Readonly<Record<OrderStatus, Tone>> = {
  new: 'warn',
  confirmed: 'good',
  closed: 'plain',
  timed_out: 'bad',
  cancelled: 'plain',
};

export const orderBadge = ({ texts }: Pick<View, 'texts'>, status: OrderStatus): Html =>
  badge(tones[status], texts.ordering.states[status]);

/** `hundredths`: of the currency, also of one without decimals. */
export const money = ({ language }: Pick<View, 'language'>, hundredths: number, currency: string): string => {
  // Zero may be that of a discount, which is negative.
  const style = { style: 'currency', currency, signDisplay: 'negative' } as const;
  const everyday = new Intl.NumberFormat(language, style);
  const { maximumFractionDigits: digits = 2 } = everyday.resolvedOptions();
  // Intl knows the decimals of everyday use. Some currencies have two more in their standard, and orders are owed with these.
  const isCut = digits < 2 && hundredths % 100 !== 0;
  return (isCut ? new Intl.NumberFormat(language, { ...style, minimumFractionDigits: 2 }) : everyday).format(
    hundredths / 100,
  );
};

/** As in the API and on receipts: with the code of the location, where it has one. */
export const orderNumber = ({ number, locationCode }: Pick<PanelOrder, 'number' | 'locationCode'>): string =>
  locationCode === null ? String(number) : `${locationCode}-${number}`;

type Named = Record<'firstName' | 'lastName' | 'phone' | 'email', string | null>;

/** The name, or else a phone or email. */
export const nameOfCustomer = ({ firstName, lastName, phone, email }: Named): string | undefined => {
  const name = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
  return name === '' ? (phone ?? email ?? undefined) : name;
};

/** Undefined without a customer, and after the customer was removed. */
export const customerName = ({ client }: Pick<PanelOrder, 'client'>): string | undefined =>
  client === null ? undefined : nameOfCustomer({ ...client, firstName: client.first_name, lastName: client.last_name });

/** The delivery method in words, and its code where the restaurant has its own one. */
export const delivery = ({ texts }: Pick<View, 'texts'>, { dmethod, table }: PanelOrder): HtmlValue => {
  const known = texts.ordering.methods;
  const word = Object.hasOwn(known, dmethod) ? known[dmethod as keyof typeof known] : dmethod;
  return table === null
    ? word
    : dmethod === '0t'
      ? texts.ordering.table(table)
      : `${word}, ${texts.ordering.table(table)}`;
};

/** A row of facts; nothing without a value. */
export const fact = (name: string, value: HtmlValue): HtmlValue =>
  value !== null && value !== undefined && value !== false && value !== '' && html`<dt>${name}</dt><dd>${value}</dd>`;
