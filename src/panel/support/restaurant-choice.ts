/**
 * The form part that chooses restaurants among any number of them. Chosen restaurants are checked boxes, and a search adds
 * its results below. With script the search fetches this part again while the user types; without script its button sends
 * the whole form.
 */
import { isSandboxId } from '#src/contract/sandbox.ts';
import { fragment } from '../page/answer.ts';
import { type Html, html } from '../page/html.ts';
import type { Page, View } from '../page/page.ts';
import { readSearch } from '../page/read-query.ts';
import { Refusal } from '../page/refusal.ts';
import type { SupportRestaurant } from '../ports/support.ts';
import { sandboxBadge } from '../view/badge.ts';
import { fieldNote } from '../view/field.ts';
import { supportRoles } from './roles.ts';

const choicePath = '/support/restaurant-choice';
const addedMax = 100;

/** Name of the search button. A form that was sent by it is only shown again. */
export const findField = 'find';

export const restaurantChoicePages: readonly Page[] = [
  {
    method: 'POST',
    path: choicePath,
    roles: supportRoles,
    // Shows the form again and saves nothing, so the length of a form alone bounds what is chosen.
    handle: async (view) => fragment(await choiceList(view, checkedIn(view))),
  },
];

const checkedIn = ({ form }: View): string[] => [...new Set(form.getAll('restaurant'))].filter((uid) => uid !== '');

/**
 * Uids of the checked restaurants. `held`: those that are chosen already, of which there may be as many as a form holds. Throws a Refusal
 * when there are more others than one request may add.
 */
export const readChosen = (view: View, held: readonly string[] = []): string[] => {
  const chosen = checkedIn(view);
  const before = new Set(held);
  if (chosen.filter((uid) => !before.has(uid)).length > addedMax)
    throw new Refusal('VALIDATION_ERROR', view.texts.support.restaurantChoice.tooMany(addedMax));
  return chosen;
};

/** `problem`: error message about the choice. */
export const restaurantChoice = async (
  view: View,
  { title, chosen, problem }: { title: string; chosen: readonly string[]; problem?: string | undefined },
): Promise<Html> => {
  const t = view.texts.support.restaurantChoice;
  const note = fieldNote('choice', problem);
  return html`<fieldset${note.attributes}><legend>${title}</legend>
${note.line}
<div class="row find"><label>${t.label}<input type="search" name="search" maxlength="255" autocomplete="off" value="${view.form.get('search')}" hx-post="/panel${choicePath}" hx-trigger="input changed delay:250ms" hx-target="#restaurant-choice" hx-include="closest form"></label>
<button name="${findField}" value="yes" formnovalidate hx-post="/panel${choicePath}" hx-target="#restaurant-choice" hx-include="closest form">${t.find}</button></div>
<div id="restaurant-choice" aria-live="polite">${await choiceList(view, chosen)}</div>
</fieldset>`;
};

const choiceList = async (view: View, chosen: readonly string[]): Promise<Html> => {
  const { texts, ports } = view;
  const t = texts.support.restaurantChoice;
  const kept = chosen.length === 0 ? [] : await ports.support.namesOf(chosen);
  const { search, problem } = askedSearch(view);
  const found = search === undefined ? undefined : await ports.support.listRestaurants(search, undefined);
  const others = found?.restaurants.filter(({ restuid }) => !chosen.includes(restuid));
  return html`<p class="hint">${kept.length === 0 ? t.nothingChosen : t.chosen}</p>
${kept.map((one) => box(one, true))}
${fieldNote('search', problem).line}
${others !== undefined && html`<p class="hint">${others.length === 0 ? t.noneFound : t.found}</p>${others.map((one) => box(one, false))}`}
${typeof found?.next === 'string' && html`<p class="hint">${t.more}</p>`}`;
};

/** An unusable search becomes a message beside the field, so that the rest of the form keeps its values. */
const askedSearch = ({ form, texts }: View): { search?: string | undefined; problem?: string } => {
  try {
    return { search: readSearch({ query: form, texts }, 'search') };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { problem: error.message };
  }
};

const box = ({ restuid, name }: SupportRestaurant, isChosen: boolean): Html =>
  html`<label class="check"><input type="checkbox" name="restaurant" value="${restuid}"${isChosen && html` checked`}><span>${name} <code>${restuid}</code>${sandboxBadge(restuid)}</span></label>`;

/** A client is for sandboxes or for real restaurants. `clientId`: undefined for a new client. */
export const mixesKinds = (restuids: readonly string[], clientId: string | undefined): boolean => {
  const kinds = new Set([...restuids, ...(clientId === undefined ? [] : [clientId])].map(isSandboxId));
  return kinds.size > 1;
};
