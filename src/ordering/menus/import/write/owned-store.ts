/** What an owner has in a menu, and would have after an import, counted inside the database: nothing is loaded. */
import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { ImportTerms } from '../read/import-terms.ts';
import type { SentMenu, SentOption } from '../read/read-elements.ts';

type Amount = {
  /** Categories and products. */
  elements: number;
  /** Option values, copied ones too; an option without values counts as one. */
  values: number;
};

export type Owned = {
  before: Amount;
  /** Without what the import copies from categories to products. */
  after: Amount;
  /** Values stored inside the sent elements, those that earlier imports removed there too. */
  stored: number;
};

/** The ext_ids of what an import sends of one kind, by what it leaves of the stored element. */
type Sent = { all: string[]; keepsOptions: string[]; keepsCopies: string[] };

type Terms = Pick<ImportTerms, 'mode' | 'posUid'> & { restuid: string; owner: string | null };

export const countOwned = async (tx: Kysely<unknown>, terms: Terms, sent: SentMenu): Promise<Owned> => {
  const isMerge = terms.mode === 'merge';
  const idsOf = (elements: readonly { extId: string }[]): string[] => elements.map(({ extId }) => extId);
  const keepsOptions = (elements: SentMenu['categories'] | SentMenu['products']): string[] =>
    isMerge ? idsOf(elements.filter(({ options }) => options === undefined)) : [];
  const copying = sent.products.filter(
    ({ given: { inherits_options: how } }) => how === 'copy' || (isMerge && how === undefined),
  );
  const categories = { all: idsOf(sent.categories), keepsOptions: keepsOptions(sent.categories), keepsCopies: [] };
  const products = {
    all: idsOf(sent.products),
    keepsOptions: keepsOptions(sent.products),
    keepsCopies: idsOf(copying),
  };
  const counted = [
    await countKind(tx, terms, sql`ordering.categories`, sql`null::jsonb`, categories),
    await countKind(tx, terms, sql`ordering.products`, sql`copied_options`, products),
  ];
  const sum = (name: keyof Counted): number => counted.reduce((total, each) => total + each[name], 0);
  const elements = [...sent.categories, ...sent.products];
  const sentValues = elements.reduce((total, { options }) => total + valuesOf(options ?? []), 0);
  return {
    before: { elements: sum('elements'), values: sum('option_values') },
    after: { elements: sum('staying') + elements.length, values: sum('kept_values') + sentValues },
    stored: sum('stored'),
  };
};

const valuesOf = (options: readonly SentOption[]): number =>
  options.reduce((total, { values }) => total + Math.max(values.length, 1), 0);

type Counted = { elements: number; option_values: number; staying: number; kept_values: number; stored: number };

const countKind = async (
  tx: Kysely<unknown>,
  { restuid, owner, mode, posUid }: Terms,
  table: RawBuilder<unknown>,
  copies: RawBuilder<unknown>,
  { all, keepsOptions, keepsCopies }: Sent,
): Promise<Counted> => {
  const among = (extIds: readonly string[]) => sql`ext_id = any(${extIds}::text[])`;
  const { rows } = await sql<Counted>`
    select count(*) filter (where is_alive) as elements, count(*) filter (where stays) as staying,
      coalesce(sum(own + copied) filter (where is_alive), 0)::bigint as option_values,
      coalesce(sum(case when stays or keeps_options then own else 0 end
        + case when stays or keeps_copies then copied else 0 end), 0)::bigint as kept_values,
      coalesce(sum(stored) filter (where is_sent), 0)::bigint as stored
    from (
      select options, ${copies} as copies, ${among(all)} as is_sent, removed_at is null as is_alive,
        removed_at is null and not ${among(all)} and (${mode} = 'merge' or pos_uid is distinct from ${posUid}) as stays,
        ${among(keepsOptions)} as keeps_options, ${among(keepsCopies)} as keeps_copies
      from ${table}
      where restuid = ${restuid} and coalesce(owner_client, '') = coalesce(${owner}::text, '') and ext_id is not null
        and (removed_at is null or ${among(all)})
    ) as owned
    cross join lateral (
      select coalesce(sum(greatest(live, 1)) filter (where not option ? 'removed'), 0) as own,
        coalesce(sum(greatest(jsonb_array_length(option -> 'option_values'), 1)), 0) as stored
      from jsonb_array_elements(options) as option
      cross join lateral (
        select count(*) as live from jsonb_array_elements(option -> 'option_values') as v where not v ? 'removed'
      ) as counted
    ) as inside
    cross join lateral (
      select coalesce(sum(greatest(jsonb_array_length(option -> 'option_values'), 1)), 0) as copied
      from jsonb_array_elements(coalesce(nullif(copies, 'null'), '[]')) as option
    ) as taken`.execute(tx);
  return rows[0] ?? { elements: 0, option_values: 0, staying: 0, kept_values: 0, stored: 0 };
};
