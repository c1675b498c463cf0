/**
 * The menu as data (interface 10.3). Options live inside their category or product as one document; an option or value
 * that an import left out stays there marked `removed`, so that it comes back with its uid. Amounts are hundredths.
 */

export type OptionValue = {
  uid: string;
  ext_id: string | null;
  name: string;
  short_name: string | null;
  price_operator: '+' | '-' | '=';
  price_operand: number;
  hidden: boolean;
  position: number;
  checked_default: boolean;
  subrestaurant_uids: string[];
  restrict_to_primary_value_uids: string[];
  removed?: true;
};

export type Option = {
  uid: string;
  ext_id: string | null;
  name: string;
  short_name: string | null;
  type: 'single' | 'multiple';
  min_selectable: number;
  max_selectable: number;
  max_quantity: number;
  note: string | null;
  hidden: boolean;
  position: number;
  primary: boolean;
  first_default: boolean;
  show_caption: boolean;
  print_caption: boolean;
  subrestaurant_uids: string[];
  option_values: OptionValue[];
  removed?: true;
};

export type Category = {
  uid: string;
  name: string;
  description: string | null;
  image: string | null;
  url: string | null;
  hidden: boolean;
  position: number;
  subrestaurant_uids: string[];
  ext_id: string | null;
  options: Option[];
};

export type Product = {
  uid: string;
  category_uid: string;
  name: string;
  ingredients: string | null;
  price: number;
  prices_table: Record<string, number>;
  image: string | null;
  allergens: string[];
  symbols: string[];
  suggested: boolean;
  price_sale_alert: boolean;
  price_sale_badge: number;
  checkout_selling: boolean;
  url: string | null;
  hidden: boolean;
  position: number;
  subrestaurant_uids: string[];
  ext_id: string | null;
  inherits_options: 'sync' | 'copy' | 'none';
  /** Own options only; those of the category are in `ProductOnSale.category`. */
  options: Option[];
};

/**
 * What ordering a product needs in one read: the product, its category, and all options that apply (inherited first).
 */
export type ProductOnSale = {
  product: Product;
  category: Category;
  options: Option[];
  /** Id in a till linked in the panel. */
  offlineUid: string | null;
};
