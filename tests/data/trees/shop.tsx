import React, { useState } from "react";

export const Button: React.FC<Props> = ({ label, onClick }) => {
  const [count, setCount] = useState(0);
  return <button onClick={() => onClick(count)}>{label} function no() {}</button>;
};

export default function App(props: Props) {
  return <Button label="class No {}" onClick={(n) => console.log(n)} />;
}
