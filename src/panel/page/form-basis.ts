/**
 * A form that shows all of a thing and saves all of it would restore what another user took away after it was opened, and one that
 * ends a quarantine would end a later one, whose reason its user did not read. So it carries a digest of the stored values that it was
 * made from, and is not saved when they are others now.
 */
import { createHash } from 'node:crypto';
import { type Html, html } from './html.ts';
import type { View } from './page.ts';
import { Refusal } from './refusal.ts';

/** The part of the thing that the form is about; a page may have a form for each. */
type Part = 'access' | 'scopes' | 'limits' | 'addresses' | 'factor' | 'endpoint' | 'state';

const nameOf = (part: Part): string => `${part}_before`;

/** The same for the same values in another sequence. */
const digestOf = (stored: readonly unknown[]): string =>
  createHash('sha256')
    .update(JSON.stringify(stored.map((one) => JSON.stringify(one)).sort()))
    .digest('base64url');

/**
 * `stored`: all that the form shows. A form that is shown again with what the user chose keeps the digest it was opened with. The form
 * needs `autocomplete="off"`: a browser that goes back to it would restore what the user chose, beside a digest of now.
 */
export const basisField = ({ form }: Pick<View, 'form'>, part: Part, stored: readonly unknown[]): Html =>
  html`<input type="hidden" name="${nameOf(part)}" value="${form.get(nameOf(part)) ?? digestOf(stored)}">`;

/** The values of a form were changed after it was opened. The panel answers with the form at `path`, which has the values of now. */
export class OutdatedForm extends Refusal {
  readonly path: string;

  constructor(text: string, path: string) {
    super('CONFLICT', text);
    this.path = path;
  }
}

/**
 * Throws OutdatedForm when the stored values are others than those that the form was made from; a form of a release that sent no digest
 * is never outdated. A change calls it again under the lock of what it changes: of two forms that are sent at the same moment both
 * pass a comparison before.
 */
export const assertAsShown = (
  { form, texts }: Pick<View, 'form' | 'texts'>,
  part: Part,
  stored: readonly unknown[],
  path: string,
): void => {
  const before = form.get(nameOf(part));
  if (before !== null && before !== digestOf(stored)) throw new OutdatedForm(texts.frame.changedMeanwhile, path);
};
