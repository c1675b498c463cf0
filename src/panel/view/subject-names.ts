/** Names in a filter: a client, restaurant or user is asked for by its id, or by its name or email. */
import { type Html, html } from '../page/html.ts';
import type { View } from '../page/page.ts';
import { wordsMax, wordsOf } from '../page/read-query.ts';
import { message } from './layout.ts';

export const subjectKinds = ['client', 'restaurant', 'user'] as const;
export type SubjectKind = (typeof subjectKinds)[number];
export type Subjects = { readonly [Kind in SubjectKind]?: string };

type Named = { id: string; name: string };
type Found = { items: readonly Named[]; more: boolean };

/** A text that is not the name of exactly one object. `more`: there are other candidates. */
export type UnclearName = { kind: SubjectKind; text: string; candidates: readonly Named[]; more: boolean };

const usersMax = 10;
const suggestionsMax = 25;

const clientsOf = async ({ ports }: View, text: string): Promise<Found> => {
  const { clients, next } = await ports.support.listClients({ text }, undefined);
  return { items: clients.map(({ clientId, name }) => ({ id: clientId, name })), more: next !== null };
};

const restaurantsOf = async ({ ports }: View, text: string): Promise<Found> => {
  const { restaurants, next } = await ports.support.listRestaurants(text, undefined);
  return { items: restaurants.map(({ restuid, name }) => ({ id: restuid, name })), more: next !== null };
};

/** Only administrators may list users; other roles must know the whole email. */
const usersOf = async ({ ports, user }: View, text: string): Promise<Found> => {
  const email = text.toLowerCase();
  const found = await ports.overview.usersByStart(email, usersMax + 1);
  const shown = user.role === 'admin' ? found : found.filter((one) => one.email === email);
  return {
    items: shown.slice(0, usersMax).map((one) => ({ id: one.userId, name: one.email })),
    more: shown.length > usersMax,
  };
};

const finders = { client: clientsOf, restaurant: restaurantsOf, user: usersOf } as const;

/** The id of a restaurant may have any form, so one that is not a name is looked for in the audit all the same. */
const isId = async ({ ports }: View, kind: SubjectKind, text: string): Promise<boolean> =>
  kind === 'restaurant'
    ? text.startsWith('rst_') || (await ports.restaurant.find(text)) !== undefined
    : text.startsWith(kind === 'client' ? 'opc_' : 'usr_');

/** As the search finds names: each given word is the beginning of a word of the name. */
const hasWords = (name: string, words: readonly string[]): boolean => {
  const own = wordsOf(name);
  return words.every((word) => own.some((one) => one.startsWith(word)));
};

const resolveOne = async (view: View, kind: SubjectKind, text: string): Promise<string | UnclearName> => {
  if (await isId(view, kind, text)) return text;
  const { items: found, more } = await finders[kind](view, text);
  const words = wordsOf(text);
  // The search passes over the words after the first eight, so it also finds names that differ in these.
  const items = words.length > wordsMax ? found.filter(({ name }) => hasWords(name, words)) : found;
  const exact = items.filter(({ name }) => name.toLowerCase() === text.toLowerCase());
  const [only, ...others] = exact.length > 0 ? exact : items;
  // Behind the last candidate there may be another one of the same name.
  if (only !== undefined && others.length === 0 && !more) return only.id;
  if (only === undefined && kind === 'restaurant' && /^[\w.-]+$/.test(text)) return text;
  return { kind, text, candidates: [...exact, ...items.filter((one) => !exact.includes(one))], more };
};

/** `ids`: each name replaced by the id of its object. A text that names none or several objects is in `unclear` instead. */
export const resolveNames = async (
  view: View,
  asked: Subjects,
): Promise<{ ids: Subjects; unclear: readonly UnclearName[] }> => {
  const ids: Partial<Record<SubjectKind, string>> = {};
  const unclear: UnclearName[] = [];
  for (const kind of subjectKinds) {
    const text = asked[kind];
    if (text === undefined) continue;
    const found = await resolveOne(view, kind, text);
    if (typeof found === 'string') ids[kind] = found;
    else unclear.push(found);
  }
  return { ids, unclear };
};

/** The candidates for each unclear name, as links to what `hrefOf` makes of the choice. */
export const unclearNames = (
  { texts }: View,
  unclear: readonly UnclearName[],
  hrefOf: (choice: Subjects) => string,
): Html[] => {
  const t = texts.security.names;
  return unclear.map(({ kind, text, candidates, more }) => {
    if (candidates.length === 0) return message({ tone: 'bad', text: t.none[kind](text) });
    return html`<section class="card" aria-label="${t.which[kind](text)}">${message({ tone: 'bad', text: t.which[kind](text) })}
<ul class="found">${candidates.map(
      ({ id, name }) => html`<li><a href="${hrefOf({ [kind]: id })}">${name}</a> <code>${id}</code></li>`,
    )}</ul>${more && html`<p class="hint">${t.more}</p>`}</section>`;
  });
};

/** For the field of a kind; the names are shown beside the ids that are sent. */
export const suggestionsOf = (kind: 'client' | 'restaurant', items: readonly Named[]): Html =>
  html`<datalist id="names-${kind}">${items
    .slice(0, suggestionsMax)
    .map(({ id, name }) => html`<option value="${id}" label="${name}"></option>`)}</datalist>`;

/** The newest restaurants. */
export const restaurantSuggestions = async (view: View): Promise<Html> =>
  suggestionsOf('restaurant', (await restaurantsOf(view, '')).items);

/** The newest clients and restaurants. */
export const suggestions = async (view: View): Promise<Html> =>
  html`${suggestionsOf('client', (await clientsOf(view, '')).items)}${await restaurantSuggestions(view)}`;

/** The list of suggestions of a field, as an attribute. */
export const listOf = (kind: SubjectKind): Html => (kind === 'user' ? html`` : html` list="names-${kind}"`);
