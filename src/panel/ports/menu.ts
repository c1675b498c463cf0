/** The port of the pages about a menu and its imports; `src/app/panel/menu-ports.ts` implements it. Amounts are hundredths. */
import type { Listed } from './restaurant.ts';

export type MenuTerms = {
  /** 0 before the first change of the menu. */
  version: number;
  currency: string;
  locations: readonly {
    uid: string;
    name: string;
    hidden: boolean;
    /** By weekday, 0 is Sunday, as pairs of times; null: always open. */
    hours: Readonly<Record<string, readonly (readonly [string, string])[]>> | null;
  }[];
};

/** `cursor`: behind this element of its list. `locations`: uids; empty: all. */
type Placed = { uid: string; name: string; hidden: boolean; locations: readonly string[]; cursor: string };

export type MenuCategory = Placed & {
  description: string | null;
  /** Products that are not hidden. */
  onSale: number;
};

export type OptionPrice = { operator: '+' | '-' | '='; amount: number };

export type MenuOption = {
  name: string;
  hidden: boolean;
  /** How many values a customer chooses. `most` 0: without a bound. */
  least: number;
  most: number;
  values: readonly (OptionPrice & { name: string; hidden: boolean })[];
};

export type MenuProduct = Placed & {
  ingredients: string | null;
  price: number;
  /** Prices that hold instead for some delivery methods, by code. */
  prices: Readonly<Record<string, number>>;
  options: readonly MenuOption[];
};

type ElementCounts = { created: number; updated: number; removed: number };

export type MenuImport = {
  uid: string;
  kind: 'import' | 'revert';
  state: 'planned' | 'running' | 'applied' | 'failed';
  mode: 'replace' | 'merge' | null;
  created: Date;
  /** When it changed the menu, if it did: a plan later than it was created. */
  applied: Date;
  /** Whose elements it is about; null: those of no client. */
  clientId: string | null;
  /** Who made it, where that was not the client: `panel:` and the id of a user, or a user of the command line. */
  actor: string | null;
  posUid: string | null;
  /** Null when nothing was applied. */
  version: number | null;
  baseVersion: number | null;
  /** Of a plan. */
  expires: Date | null;
  /** False for a plan whose elements a replace of another point of sale took over, and for everything that is no plan. */
  hasPlan: boolean;
  percent: number;
  counts: Record<'categories' | 'products' | 'options' | 'values', ElementCounts>;
};

export type MenuChange = {
  kind: 'category' | 'product';
  uid: string;
  action: 'created' | 'updated' | 'removed';
  name: { before: string | null; after: string | null };
  price: { before: number | null; after: number | null };
  /** Names of further members that differ. */
  members: readonly string[];
  /** Values of its options with another price; null: the value did not exist, or does not any more. */
  options: readonly {
    option: string;
    value: string;
    before: OptionPrice | null;
    after: OptionPrice | null;
  }[];
};

type PlannedChange = {
  kind: 'category' | 'product' | 'option' | 'option_value';
  action: 'created' | 'updated' | 'removed';
  /** Its id in the till, or its uid. */
  id: string;
  /** In the form of the API. */
  changes: readonly { member: string; before: string; after: string }[];
};

export type MenuPorts = {
  terms(restuid: string): Promise<MenuTerms>;
  /** By position, hidden ones too. */
  categories(restuid: string, search: { after: string | undefined; limit: number }): Promise<Listed<MenuCategory>>;
  category(restuid: string, uid: string): Promise<MenuCategory | undefined>;
  /** Those of one category by position, hidden ones too. */
  products(
    restuid: string,
    category: string,
    search: { after: string | undefined; limit: number },
  ): Promise<Listed<MenuProduct>>;
  /** Running ones first, then the latest. */
  imports(restuid: string, search: { after: string | undefined; limit: number }): Promise<Listed<MenuImport>>;
  import(restuid: string, uid: string): Promise<MenuImport | undefined>;
  /** The import or revert that made the present version; undefined before the first one. */
  latestChange(restuid: string): Promise<MenuImport | undefined>;
  /** True when the menu of this import can be restored, and differs from the present one. */
  canRevertTo(restuid: string, uid: string): Promise<boolean>;
  /** What an applied import changed; empty once the earlier states were deleted. */
  changes(
    restuid: string,
    uid: string,
    search: { after: string | undefined; limit: number },
  ): Promise<Listed<MenuChange>>;
  /** The first changes of a plan, and how many there are; undefined when there are too many to be read for a page. */
  plan(
    restuid: string,
    uid: string,
    limit: number,
  ): Promise<{ items: readonly PlannedChange[]; total: number } | undefined>;
  /**
   * Restores the elements of the client as they were after the import. Throws NOT_FOUND, and CONFLICT when the menu is not at
   * `seenVersion` any more. Returns the uid of the new import.
   */
  revert(actor: string, restuid: string, uid: string, seenVersion: number): Promise<string>;
};
