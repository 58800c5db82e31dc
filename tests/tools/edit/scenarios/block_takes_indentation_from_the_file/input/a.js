class A {
    f() {
        if (ok) {
          run();
        }
    }
}
