"use client";

import React, { useState, type ReactNode } from "react";
import styles from "./styles.module.css";
export { Button } from "./button";

type Props<T> = { items: T[]; render(item: T): ReactNode; onChange?: (item: T) => void };
interface State { count: number; reset(): void }

/** A list of anything. */
export function List<T extends object>({ items, render }: Props<T>): JSX.Element {
  const [open, setOpen] = useState<boolean>(false);
  const toggle = useCallback(() => setOpen((o) => !o), []);
  const handleClick = (event: React.MouseEvent<HTMLButtonElement>) => {
    function inHandler() {}
    event.preventDefault();
  };
  useEffect(() => {
    const inEffect = () => {};
    return () => inEffect();
  }, []);
  const total = useMemo(() => items.length, [items]);
  return (
    <ul className={styles.list} onClick={() => toggle()}>
      {items.map((item, index) => (
        <li key={index} {...item}>
          {render(item)} &nbsp; {/* a comment */}
          <Nested.Deep render={function named() { return <></>; }} />
        </li>
      ))}
    </ul>
  );
}

export const Arrow: React.FC<Props<string>> = ({ items }) => <List items={items} render={(x) => x} />;

// Wrapped once.
export const Memo = React.memo(function MemoInner({ a }: { a: string }) {
  const inMemo = () => a;
  return <span>{inMemo()}</span>;
});

export const Ref = forwardRef<HTMLDivElement, Props<number>>((props, ref) => {
  return <div ref={ref} {...props} />;
});

export const Twice = memo(
  forwardRef<HTMLInputElement, {}>(function Twice(props, ref) {
    return <input ref={ref} />;
  }),
);

const Styled = styled.div<{ wide: boolean }>`
  width: ${(props) => (props.wide ? "100%" : "50%")};
`;
const Styled2 = styled(Button)(({ theme }) => ({ color: theme.color }));

const generic = <T,>(x: T) => x;
const extended = <T extends unknown>(x: T): x is T => true;

export class Boundary extends React.Component<Props<string>, State> {
  static defaultProps: Partial<Props<string>> = { items: [] };
  state: State = { count: 0, reset() {} };

  static getDerivedStateFromError(error: Error) { return { failed: true }; }
  componentDidCatch(error: Error, info: React.ErrorInfo): void {}
  handle = (): void => { this.setState({ count: 1 }); };
  private renderItem = (item: string) => <b>{item}</b>;
  get isOpen() { return true; }

  render() {
    if (this.state.count) return <Fallback onRetry={() => this.handle()} />;
    return this.props.children;
  }
}

export const Context = React.createContext<{ go(): void }>({ go: () => {} });
export const useThing = () => {
  const context = useContext(Context);
  return { context, refresh: () => {}, stop() {} };
};

function withTheme<P>(Component: React.ComponentType<P>) {
  function Themed(props: P) { return <Component {...props} />; }
  Themed.displayName = `withTheme(${Component.name})`;
  Themed.getLayout = (page: ReactNode) => <Layout>{page}</Layout>;
  return Themed;
}

export const Connected = connect((state: State) => ({ a: state.count }))(List);
export const Fetched = observer(() => <div />);
const LazyPage = React.lazy(() => import("./page"));

const components: Record<string, React.FC> = {
  h1: (props) => <h1 {...props} />,
  Code({ children }) { return <code>{children}</code>; },
  Wrapped: memo(() => <i />),
  text: "no",
};

export const slice = createSlice({
  name: "todos",
  initialState: [],
  reducers: {
    // Adds one.
    added(state, action: PayloadAction<string>) { state.push(action.payload); },
    removed: (state) => {},
    prepared: { reducer(state) {}, prepare: () => ({ payload: 1 }) },
  },
  extraReducers: (builder) => { builder.addCase("x", (state) => {}); },
});

export async function getServerSideProps({ params }: Context) {
  return { props: {} };
}

enum Mode { Light, Dark }
namespace Util { export const id = <T,>(x: T) => x; }

test("renders", async () => {
  const setup = () => render(<List items={[]} render={() => null} />);
  const user = { name: "n", greet() {} };
});

abstract class Base<P> { abstract view(props: P): JSX.Element; protected helper(): void {} }
declare global { namespace JSX { interface IntrinsicElements { custom: any } } }

export default function Page({ children }: { children: ReactNode }) {
  return (
    <Layout
      header={<Header title="x > y" />}
      footer={() => <Footer />}
    >
      {children}
    </Layout>
  );
}
