import React, { useState, type FC } from "react";
import { Theme } from "./theme";

interface Props<T> { items: T[]; onPick?(item: T): void; theme: Theme.Kind }

export const Panel: FC<Props<string>> = ({ items, onPick, theme: { größe = 1 } }) => {
  const [open, setOpen] = useState<boolean>(false), label = `é ${items.length}`;
  let last: string | undefined; last = items[0];
  return (
    <Theme.Provider value={größe} data-x="ü">é <button type="button" onClick={(event) => setOpen(!open)}>{label}</button>
      {items.map((item) => <Row<string> key={item} {...{ item, last }} pick={() => onPick!(item)} />)}
    </Theme.Provider>
  );
};
export default React.memo(Panel as FC<any>);
